#include "runtime/devices/pretended_devices.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/base/stream_text.hpp"

namespace orrery::runtime {
namespace {

// "GPU has fallen off the bus": what a driver says of a device that is gone.
constexpr std::uint64_t kFallenOff = 79;

constexpr std::string_view kBetween = ", \t\r\n";

/// Bit i: the text names device i of `count`. What is none is appended to `unknown`.
std::uint64_t named_in(std::string_view text, std::size_t count, std::string& unknown) {
  std::uint64_t named = 0;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return named;
    const std::string_view word = text.substr(begin, text.find_first_of(kBetween, begin) - begin);
    text.remove_prefix(begin + word.size());
    std::size_t device = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), device);
    if (error == std::errc() && end == word.data() + word.size() && device < count)
      named |= std::uint64_t{1} << device;
    else
      unknown.append(unknown.empty() ? "'" : ", '").append(word).append("'");
  }
}

}  // namespace

PretendedDevices::PretendedDevices(std::size_t count, const std::string& model, LossFile file)
    : file_(std::move(file)) {
  FoundDevice pretended;
  pretended.model = model;
  devices_.assign(count, pretended);
  if (file_.path.empty()) return;
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::absolute(file_.path, code).parent_path();
  // Where it cannot be made the agent, whose folder it is, says so.
  std::filesystem::create_directories(folder, code);
  changes_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  // Moved here, taken away or written to its end: a half-written file is not read.
  if (changes_ >= 0)
    ::inotify_add_watch(
        changes_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE);
  read_file();
  told_ = lost_;  // What was lost before is seen by the first look.
}

PretendedDevices::~PretendedDevices() {
  if (changes_ >= 0) ::close(changes_);
}

std::vector<DeviceReading> PretendedDevices::read() {
  std::vector<DeviceReading> out(devices_.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if ((lost_ >> i & 1U) != 0)
      out[i] = {.answers = false, .failure = "named as lost by " + file_.path};
  return out;
}

// Other files of the folder change, too; looking at this one costs microseconds.
void PretendedDevices::wait_for_change(Duration longest) const {
  pollfd polled{changes_, POLLIN, 0};
  const timespec at_most{longest.ns / 1'000'000'000, longest.ns % 1'000'000'000};
  if (::ppoll(&polled, 1, &at_most, nullptr) <= 0) return;
  std::array<char, 4096> ignored{};
  while (::read(changes_, ignored.data(), ignored.size()) > 0) {
  }
}

std::vector<DeviceXid> PretendedDevices::wait_for_xids(Duration longest) {
  wait_for_change(longest);
  if (!file_.path.empty()) read_file();
  std::vector<DeviceXid> out;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (((lost_ & ~told_) >> i & 1U) != 0) out.push_back({i, kFallenOff});
  told_ = lost_;
  return out;
}

void PretendedDevices::read_file() {
  std::ifstream file(file_.path, std::ios::binary);
  std::string text = rest_of(file).value_or("");
  if (text == text_) return;
  text_ = std::move(text);
  std::string unknown;
  lost_ = named_in(text_, devices_.size(), unknown);
  if (unknown.empty() || !file_.say) return;
  const std::string most =
      devices_.empty() ? "this node has none" : "0 to " + std::to_string(devices_.size() - 1);
  file_.say(file_.path + ": " + unknown + " found, needed numbers of devices (" + most +
            "), separated by commas; the others count");
}

}  // namespace orrery::runtime
