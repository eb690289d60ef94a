// Watches the devices of a node on a thread of its own, and tells when one stops or starts to work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/devices/device_health.hpp"
#include "runtime/devices/device_reading.hpp"

namespace orrery::runtime {

/// What does not work now.
struct DeviceFacts {
  std::uint64_t broken = 0;          ///< Bit i: device i.
  std::vector<std::string> reasons;  ///< A sentence for each broken device.

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

struct DeviceWatcherSettings {
  DeviceHealthSettings health;
  Duration period = Duration::seconds(5);  ///< Between two looks; errors are told at once.
};

/// Looks until it is destroyed, which waits for a call that is under way.
class DeviceWatcher {
 public:
  /// Told of every change, on the watcher's thread.
  using Listener = std::function<void(const DeviceFacts&)>;
  /// Whether a device that looks clean works; may take a while. On the watcher's thread.
  using Check = std::function<bool(std::size_t device)>;

  DeviceWatcher(std::unique_ptr<DeviceReader> reader,
                const DeviceWatcherSettings& settings,
                Check check,
                Listener listener);
  DeviceWatcher(const DeviceWatcher&) = delete;
  DeviceWatcher& operator=(const DeviceWatcher&) = delete;
  ~DeviceWatcher();

  /// How long ago the last look ended: a driver that hangs may hold one up for ever.
  Duration since_last_look() const;

 private:
  void run(const std::stop_token& stop);
  bool look();
  bool check_rested();
  DeviceFacts facts() const;

  std::unique_ptr<DeviceReader> reader_;
  DeviceWatcherSettings settings_;
  Check check_;
  Listener listener_;
  DeviceHealth health_;
  std::atomic<std::int64_t> last_look_ns_;
  std::jthread thread_;  // The last member: it uses the others.
};

}  // namespace orrery::runtime
