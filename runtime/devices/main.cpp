// orrery-devices LIBRARY: reads devices by NVML for an agent. device_lines.hpp has what is said; it
// ends when its input does.
#include <poll.h>
#include <unistd.h>

#include <string>

#include "runtime/devices/device_lines.hpp"

namespace orrery::runtime {
namespace {

/// How long a line of the agent may wait for an error of the driver.
constexpr Duration kSlice = Duration::milliseconds(20);

bool say(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

/// Lines of the agent that are there now; false at the end of its words.
bool listen(std::string& heard) {
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  if (::poll(&waiting, 1, 0) <= 0) return true;
  char bytes[256];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count <= 0 || heard.size() > 4096) return false;
  heard.append(bytes, static_cast<std::size_t>(count));
  return true;
}

bool answer(DeviceReader& reader, std::string& heard) {
  for (std::size_t end = heard.find('\n'); end != std::string::npos; end = heard.find('\n')) {
    const bool asked = heard.compare(0, end, "read") == 0;
    heard.erase(0, end + 1);
    if (!asked) continue;
    std::string text;
    for (const DeviceReading& reading : reader.read()) text += reading_line(reading);
    if (!say(text + "end\n")) return false;
  }
  return true;
}

int serve(DeviceReader& reader) {
  std::string text;
  for (const FoundDevice& device : reader.devices()) text += device_line(device);
  if (!say(text + "ready\n")) return 1;
  std::string heard;
  while (listen(heard) && answer(reader, heard)) {
    std::string errors;
    for (const DeviceXid& xid : reader.wait_for_xids(kSlice)) errors += xid_line(xid);
    if (!errors.empty() && !say(errors)) return 1;
  }
  return 0;
}

int run(int count, char** words) {
  if (count > 2) {
    const std::string usage = "usage: orrery-devices [LIBRARY]\n";
    return ::write(STDERR_FILENO, usage.data(), usage.size()) < 0 ? 1 : 2;
  }
  auto reader = open_nvml(count == 2 ? words[1] : "");
  if (!reader) {
    say(failed_line(reader.errors().front()));
    return 1;
  }
  return serve(**reader);
}

}  // namespace
}  // namespace orrery::runtime

int main(int count, char** words) { return orrery::runtime::run(count, words); }
