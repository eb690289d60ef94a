#include "runtime/devices/device_health.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::runtime {
namespace {

/// Errors that programs cause: a bad instruction or access, a channel that was torn down.
constexpr std::uint64_t kXidsOfPrograms[]{13, 31, 43, 45, 68, 109};

struct KnownXid {
  std::uint64_t xid;
  const char* words;
};

constexpr KnownXid kKnownXids[]{{48, "an uncorrectable memory error"},
                                {62, "the controller on the GPU has halted"},
                                {63, "a row of memory was remapped"},
                                {64, "a row of memory could not be remapped"},
                                {74, "an error of NVLink"},
                                {79, "the GPU has fallen off the bus"},
                                {92, "many memory errors that were corrected"},
                                {94, "a contained memory error"},
                                {95, "an uncontained memory error"},
                                {119, "the processor on the GPU does not answer"},
                                {120, "an error of the processor on the GPU"}};

}  // namespace

bool is_xid_of_program(std::uint64_t xid) {
  return std::find(std::begin(kXidsOfPrograms), std::end(kXidsOfPrograms), xid) !=
         std::end(kXidsOfPrograms);
}

std::string describe_xid(std::uint64_t xid) {
  std::string text = "XID " + std::to_string(xid);
  for (const KnownXid& known : kKnownXids)
    if (known.xid == xid) text += ": " + std::string(known.words);
  return text;
}

DeviceHealth::DeviceHealth(std::size_t devices, const DeviceHealthSettings& settings)
    : settings_(settings), devices_(devices), seen_(devices) {
  invariant(devices <= 64, "a mask has a bit for each device");
}

bool DeviceHealth::on_readings(Instant now, std::span<const DeviceReading> readings) {
  invariant(readings.size() == devices_.size(), "one reading for each device");
  bool changed = false;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const DeviceReading& reading = readings[i];
    Seen& seen = seen_[i];
    if (reading.answers && !seen.read) {
      seen.read = true;
      seen.ecc_errors = reading.ecc_errors;
    }
    const bool hot = reading.answers && reading.too_hot;
    if (!hot) seen.hot_since = Instant::never();
    if (hot && seen.hot_since.is_never()) seen.hot_since = now;
    const bool more_errors = reading.answers && reading.ecc_errors > seen.ecc_errors;
    const bool clean = reading.answers && !hot && !more_errors;
    if (!clean) seen.clean_since = Instant::never();
    if (clean && seen.clean_since.is_never()) seen.clean_since = now;

    if (!reading.answers)
      changed |= fail(now, i, DeviceFault::Lost, reading.failure);
    else if (more_errors)
      changed |=
          fail(now,
               i,
               DeviceFault::Ecc,
               std::to_string(reading.ecc_errors - seen.ecc_errors) + " uncorrected memory errors");
    else if (hot && now - seen.hot_since >= settings_.heat_lasts)
      changed |= fail(now, i, DeviceFault::Heat, "slowed down by heat");
    // A driver that was loaded anew counts from 0.
    if (reading.answers) seen.ecc_errors = reading.ecc_errors;
  }
  return changed;
}

bool DeviceHealth::on_xid(Instant now, const DeviceXid& xid) {
  if (xid.device >= devices_.size() || is_xid_of_program(xid.xid)) return false;
  // The next clean reading begins the rest.
  seen_[xid.device].clean_since = Instant::never();
  return fail(now, xid.device, DeviceFault::Xid, describe_xid(xid.xid));
}

bool DeviceHealth::fail(Instant now, std::size_t device, DeviceFault fault, std::string reason) {
  Device& to = devices_[device];
  // The first fault stays, unless it turns out that nothing of the device is left.
  if (to.fault != DeviceFault::None && to.fault != DeviceFault::FailedCheck &&
      (fault != DeviceFault::Lost || to.fault == DeviceFault::Lost))
    return false;
  to = {fault, std::move(reason), now};
  return true;
}

std::uint64_t DeviceHealth::broken() const {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].fault != DeviceFault::None) mask |= std::uint64_t{1} << i;
  return mask;
}

std::uint64_t DeviceHealth::due_for_check(Instant now) const {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Instant clean = seen_[i].clean_since;
    if (devices_[i].fault != DeviceFault::None && !clean.is_never() &&
        now - clean >= settings_.rest)
      mask |= std::uint64_t{1} << i;
  }
  return mask;
}

bool DeviceHealth::on_checked(Instant now, std::size_t device, bool passed) {
  if (device >= devices_.size() || devices_[device].fault == DeviceFault::None) return false;
  // What came up while it was checked counts more than the check.
  if (seen_[device].clean_since.is_never()) return false;
  if (passed) {
    devices_[device] = {};
    return true;
  }
  seen_[device].clean_since = now;
  devices_[device].fault = DeviceFault::FailedCheck;
  devices_[device].reason = "the check of the device failed";
  return true;
}

}  // namespace orrery::runtime
