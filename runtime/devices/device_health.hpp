// Which devices of a node work: decided from readings and reported errors alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"
#include "runtime/devices/device_reading.hpp"

namespace orrery::runtime {

/// Why a device is not used.
enum class DeviceFault : std::uint8_t { None, Lost, Xid, Ecc, Heat, FailedCheck };

struct DeviceHealthSettings {
  Duration heat_lasts = Duration::seconds(30);  ///< So long slowed down by heat without a pause.
  Duration rest = Duration::seconds(60);        ///< So long clean before a device is checked again.
};

/// Whether an error of this number is the doing of a program and not of the device: such errors
/// come with every program that goes astray.
bool is_xid_of_program(std::uint64_t xid);

/// "XID 79: the GPU has fallen off the bus"; for numbers that are not known just the number.
std::string describe_xid(std::uint64_t xid);

/// The state of every device of one node. A device that fails is out until it has been clean for a
/// while and a check of it has passed.
class DeviceHealth {
 public:
  /// What is known of one device.
  struct Device {
    DeviceFault fault = DeviceFault::None;
    std::string reason;  ///< In words; empty while it works.
    Instant since;       ///< When it failed.
  };

  DeviceHealth(std::size_t devices, const DeviceHealthSettings& settings);

  /// One reading for each device. The first one tells what was there before: its count of ECC
  /// errors is where counting begins. Returns whether `broken()` or a reason has changed.
  bool on_readings(Instant now, std::span<const DeviceReading> readings);

  /// An error that the driver reported. Returns as above.
  bool on_xid(Instant now, const DeviceXid& xid);

  /// Bit i: device i does not work.
  std::uint64_t broken() const;

  /// Broken devices that have been clean long enough to be checked.
  std::uint64_t due_for_check(Instant now) const;

  /// The check of a device ended. One that passed works again; after another one it rests anew.
  /// Returns as above.
  bool on_checked(Instant now, std::size_t device, bool passed);

  const std::vector<Device>& devices() const { return devices_; }

 private:
  /// What readings have shown.
  struct Seen {
    bool read = false;
    std::uint64_t ecc_errors = 0;  ///< Those that are already charged.
    Instant hot_since = Instant::never();
    Instant clean_since = Instant::never();  ///< Never: not clean.
  };

  bool fail(Instant now, std::size_t device, DeviceFault fault, std::string reason);

  DeviceHealthSettings settings_;
  std::vector<Device> devices_;
  std::vector<Seen> seen_;
};

}  // namespace orrery::runtime

namespace orrery {

template <>
struct EnumNames<runtime::DeviceFault> {
  static constexpr std::array kNames{"None", "Lost", "Xid", "Ecc", "Heat", "FailedCheck"};
};

}  // namespace orrery
