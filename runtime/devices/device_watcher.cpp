#include "runtime/devices/device_watcher.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace orrery::runtime {
namespace {

Instant steady_now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

/// Destroying a watcher waits no longer than this for a wait to end.
constexpr Duration kSlice = Duration::milliseconds(100);

}  // namespace

DeviceWatcher::DeviceWatcher(std::unique_ptr<DeviceReader> reader,
                             const DeviceWatcherSettings& settings,
                             Check check,
                             Listener listener)
    : reader_(std::move(reader)),
      settings_(settings),
      check_(std::move(check)),
      listener_(std::move(listener)),
      health_(reader_->devices().size(), settings.health),
      last_look_ns_(steady_now().ns),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

DeviceWatcher::~DeviceWatcher() {
  thread_.request_stop();
  thread_.join();
}

Duration DeviceWatcher::since_last_look() const {
  return steady_now() - Instant{last_look_ns_.load()};
}

void DeviceWatcher::run(const std::stop_token& stop) {
  Instant next_look = steady_now();
  while (!stop.stop_requested()) {
    bool changed = false;
    if (steady_now() >= next_look) {
      changed |= look();
      changed |= check_rested();
      next_look = steady_now() + settings_.period;
    }
    const Duration left = std::max(Duration::milliseconds(1), next_look - steady_now());
    for (const DeviceXid& xid : reader_->wait_for_xids(std::min(left, kSlice)))
      changed |= health_.on_xid(steady_now(), xid);
    if (changed && !stop.stop_requested()) listener_(facts());
  }
}

bool DeviceWatcher::look() {
  const std::vector<DeviceReading> readings = reader_->read();
  const Instant now = steady_now();
  last_look_ns_ = now.ns;
  return health_.on_readings(now, readings);
}

bool DeviceWatcher::check_rested() {
  bool changed = false;
  const std::uint64_t due = health_.due_for_check(steady_now());
  for (std::size_t i = 0; i < health_.devices().size(); ++i) {
    if ((due >> i & 1U) == 0) continue;
    const bool passed = !check_ || check_(i);
    changed |= health_.on_checked(steady_now(), i, passed);
  }
  return changed;
}

DeviceFacts DeviceWatcher::facts() const {
  DeviceFacts facts;
  facts.broken = health_.broken();
  for (std::size_t i = 0; i < health_.devices().size(); ++i) {
    const DeviceHealth::Device& device = health_.devices()[i];
    if (device.fault == DeviceFault::None) continue;
    const FoundDevice& found = reader_->devices()[i];
    std::string name = "device " + std::to_string(i) + " (" + found.model;
    if (!found.bus_id.empty()) name += ", " + found.bus_id;
    facts.reasons.push_back(name + "): " + device.reason);
  }
  return facts;
}

}  // namespace orrery::runtime
