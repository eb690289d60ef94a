// Many timers of which few ever fire: the deadlines of calls. On the I/O thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk {

class IoTimers {
 public:
  /// `task` is due at `at`, unless the timer is destroyed before, on any thread.
  Io::Timer add(SteadyTime at, std::function<void()> task);

  /// When the next may be due; never later than it is.
  SteadyTime next() const { return heap_.empty() ? SteadyTime::max() : heap_.front().at; }

  /// How many it holds, some of which were destroyed.
  std::size_t size() const { return heap_.size(); }

  /// Runs those that are due, in their order.
  void run_due(SteadyTime now);

 private:
  struct Entry;

  struct Waiting {
    SteadyTime at;
    std::uint64_t number = 0;
    std::weak_ptr<Entry> entry;
  };

  static bool is_later(const Waiting& a, const Waiting& b);
  void forget_gone();

  std::vector<Waiting> heap_;
  std::uint64_t last_number_ = 0;
  std::shared_ptr<std::atomic<std::size_t>> gone_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace orrery::sdk
