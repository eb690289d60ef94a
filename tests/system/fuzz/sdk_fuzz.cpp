// What comes over a connection of the call protocol: frames are read or refused whatever the bytes
// are, cut anywhere, and a value that was read is written and read again as it was. The first byte
// chooses the side.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/invariant.hpp"
#include "runtime/sdk/environment.hpp"
#include "runtime/sdk/messages.hpp"

namespace {

namespace sdk = orrery::sdk;

constexpr sdk::FrameLimits kLimits{1 << 16, 1 << 16, true};

/// Writes the arguments of a call and reads them again.
void check(const sdk::CallMessage& call) {
  const auto written = sdk::write_arguments(call.args, call.kwargs);
  const std::string header =
      R"({"t":"call","id":1,"method":"m","deadline_ms":1,)" + written->fields + "}";
  const auto frame = sdk::frame_of(header, written->buffers, written);
  if (!frame) return;  // Escapes made it longer than a header may be.
  std::string bytes = frame->head;
  for (const sdk::ByteView& buffer : frame->buffers) bytes.append(buffer.begin(), buffer.end());
  sdk::FrameReader reader({sdk::kHeaderMax, 1 << 20, true});
  std::span<const std::uint8_t> rest(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                     bytes.size());
  const bool complete = reader.feed(rest);
  invariant(complete && rest.empty(), "what was written is a frame: " + reader.broken());
  std::string why;
  const auto again = sdk::caller_message(reader.take(), why);
  invariant(again.has_value(), "what was written is a message: " + why);
  const auto& same = std::get<sdk::CallMessage>(*again);
  invariant(same.args == call.args && same.kwargs == call.kwargs, "values travel as they are");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_caller = data[0] % 2 == 0;
  std::span<const std::uint8_t> bytes(data + 1, size - 1);
  (void)sdk::detail::membership_in(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  sdk::FrameReader reader(kLimits);
  for (const std::size_t half : {size / 2, size}) {
    std::span<const std::uint8_t> part = bytes.first(std::min(half, bytes.size()));
    bytes = bytes.subspan(part.size());
    while (reader.feed(part)) {
      std::string why;
      if (is_caller) {
        const auto message = sdk::caller_message(reader.take(), why);
        invariant(message.has_value() || !why.empty(), "a refusal has a reason");
        if (!message) continue;
        if (const auto* call = std::get_if<sdk::CallMessage>(&*message)) check(*call);
      } else {
        (void)sdk::callee_message(reader.take(), why);
      }
    }
  }
  return 0;
}
