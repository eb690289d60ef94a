// A wait that a stop ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace orrery::runtime {

/// Waits for `time`, less where `stop` is requested.
inline void pause(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any over;
  std::unique_lock lock(mutex);
  over.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace orrery::runtime
