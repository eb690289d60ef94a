#include "runtime/devices/device_lines.hpp"

#include <algorithm>

#include "core/base/number_text.hpp"

namespace orrery::runtime {
namespace {

std::string word(std::string_view text) { return text.empty() ? "-" : std::string(text); }

/// Words of one line, one after the other.
class Words {
 public:
  /// A line that does not begin with `head` is broken.
  Words(std::string_view line, std::string_view head) : rest_(line), sound_(next() == head) {}

  std::string_view next() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return found;
  }

  std::string text() { return unmarked(next()); }

  template <class Integer>
  Integer number() {
    const std::optional<Integer> value = parsed_number<Integer>(next());
    sound_ = sound_ && value;
    return value.value_or(0);
  }

  /// All that is left.
  std::string rest() { return unmarked(rest_); }

  bool sound() const { return sound_; }

 private:
  std::string unmarked(std::string_view found) {
    if (found.empty()) sound_ = false;
    return found == "-" ? std::string() : std::string(found);
  }

  std::string_view rest_;
  bool sound_;
};

/// Words of a vendor on one line.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return word(text);
}

}  // namespace

std::string device_line(const FoundDevice& device) {
  return "device " + word(device.model) + " " + word(device.uuid) + " " + word(device.bus_id) +
         " " + std::to_string(device.memory.count) + " " + std::to_string(device.numa_node) + "\n";
}

std::string reading_line(const DeviceReading& reading) {
  return "reading " + std::to_string(reading.answers ? 1 : 0) + " " +
         std::to_string(reading.ecc_errors) + " " + std::to_string(reading.too_hot ? 1 : 0) + " " +
         on_one_line(reading.failure) + "\n";
}

std::string xid_line(const DeviceXid& xid) {
  return "xid " + std::to_string(xid.device) + " " + std::to_string(xid.xid) + "\n";
}

std::string failed_line(const Error& error) {
  return "failed " + std::to_string(static_cast<int>(error.code)) + " " +
         on_one_line(error.message) + "\n";
}

std::optional<FoundDevice> parse_device_line(std::string_view line) {
  Words words(line, "device");
  FoundDevice device;
  device.model = words.text();
  device.uuid = words.text();
  device.bus_id = words.text();
  device.memory.count = words.number<std::int64_t>();
  device.numa_node = words.number<std::int32_t>();
  if (!words.sound()) return std::nullopt;
  return device;
}

std::optional<DeviceReading> parse_reading_line(std::string_view line) {
  Words words(line, "reading");
  DeviceReading reading;
  reading.answers = words.number<int>() != 0;
  reading.ecc_errors = words.number<std::uint64_t>();
  reading.too_hot = words.number<int>() != 0;
  reading.failure = words.rest();
  if (!words.sound()) return std::nullopt;
  return reading;
}

std::optional<DeviceXid> parse_xid_line(std::string_view line) {
  Words words(line, "xid");
  DeviceXid xid;
  xid.device = words.number<std::size_t>();
  xid.xid = words.number<std::uint64_t>();
  if (!words.sound()) return std::nullopt;
  return xid;
}

std::optional<Error> parse_failed_line(std::string_view line) {
  Words words(line, "failed");
  Error error;
  const int code = words.number<int>();
  error.subject = "NVML";
  error.message = words.rest();
  if (!words.sound() || code < 0 || code > static_cast<int>(ErrorCode::Unavailable))
    return std::nullopt;
  error.code = static_cast<ErrorCode>(code);
  return error;
}

}  // namespace orrery::runtime
