// What comes over the wire is read from any bytes or refused, and what was read has one encoding.
// The first byte chooses the direction, and whether the rest is one message or a batch of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/record/version.hpp"
#include "runtime/link/batch.hpp"
#include "runtime/link/messages.hpp"
#include "runtime/proto/agent_link.pb.h"

namespace {

constexpr std::size_t kMessageBytesMax = 64 << 10;

template <class Message>
void check(const Message& message) {
  const std::string first = orrery::runtime::encode(message);
  Message same;
  invariant(orrery::runtime::decode(first, same), "what was read can be written and read again");
  invariant(orrery::runtime::encode(same) == first, "a message has one encoding");
}

template <class Message>
void one(std::string_view bytes) {
  Message message;
  if (!orrery::runtime::decode(bytes, message)) return;
  check(message);
}

template <class Message>
void many(std::string_view bytes) {
  orrery::link::Batch batch;
  if (!batch.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  std::vector<Message> messages;
  if (!orrery::runtime::unpack(batch, kMessageBytesMax, messages).empty()) return;
  invariant(messages.size() == static_cast<std::size_t>(batch.messages_size()),
            "a batch is taken as a whole");
  orrery::runtime::Outbox outbox(std::size_t{1} << 30);
  for (const Message& message : messages) {
    check(message);
    outbox.push(orrery::runtime::encode(message));
  }
  std::size_t left = messages.size();
  while (!outbox.empty()) {
    orrery::link::Batch out;
    outbox.fill(out, kMessageBytesMax);
    left -= static_cast<std::size_t>(out.messages_size());
  }
  invariant(left == 0, "what was packed leaves");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::runtime::AgentMessage;
  using orrery::runtime::ControllerMessage;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      one<AgentMessage>(rest);
      break;
    case 1:
      one<ControllerMessage>(rest);
      break;
    case 2:
      many<AgentMessage>(rest);
      break;
    default:
      many<ControllerMessage>(rest);
      break;
  }
  return 0;
}
