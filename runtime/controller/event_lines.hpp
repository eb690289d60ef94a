// What happened, in words: the last lines, and their subscribers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "runtime/controller/control_api.hpp"
#include "runtime/controller/subscribers.hpp"

namespace orrery::runtime {

/// Keeps the latest lines and hands new ones on. Any thread, as Subscribers.
class EventLines {
 public:
  explicit EventLines(std::size_t kept) : kept_(kept) {}

  /// Numbers the line and hands it to everybody.
  void add(EventLine line);

  /// `told` hears up to `backlog` earlier lines at once.
  std::unique_ptr<Subscription> follow(std::size_t backlog,
                                       std::function<void(const EventLine&)> told);

 private:
  const std::size_t kept_;
  std::uint64_t last_ = 0;       ///< Changed by `add` alone, which one thread calls at a time.
  std::deque<EventLine> lines_;  ///< Under the followers' lock.
  Subscribers<EventLine> followers_;
};

/// Jobs that may have changed; none: anything may have.
using JobChanges = Subscribers<JobId>;

}  // namespace orrery::runtime
