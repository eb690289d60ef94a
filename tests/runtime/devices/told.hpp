// What a watcher of devices has told, for a test that waits for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/devices/device_watcher.hpp"

namespace orrery::runtime {

/// Keeps what the watcher tells, for a test that waits for it.
class Told {
 public:
  void take(const DeviceFacts& facts) {
    const std::lock_guard lock(mutex_);
    facts_ = facts;
    changed_.notify_all();
  }

  /// Waits until these devices are the broken ones; the facts then.
  DeviceFacts wait_for(std::uint64_t broken) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return facts_.broken == broken; }))
        << "told last: " << facts_.broken;
    return facts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  DeviceFacts facts_{.broken = ~std::uint64_t{0}, .reasons = {}};
};

}  // namespace orrery::runtime
