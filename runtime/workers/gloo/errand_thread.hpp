// Runs calls that cannot be cancelled, for a caller that can.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/workers/socket.hpp"

namespace orrery::worker {

/// A thread that does one errand at a time. A caller that no longer wants to wait abandons it: the
/// errand ends by its own time limit, on what it holds itself, and the thread with it.
class ErrandThread {
 public:
  ErrandThread();
  ~ErrandThread();

  ErrandThread(const ErrandThread&) = delete;
  ErrandThread& operator=(const ErrandThread&) = delete;

  /// The errand's outcome, or that of the limits where they are met first; then no other errand can
  /// be run. The errand must own all that it touches. `what` begins the reason of a time-out.
  Outcome run(std::function<Outcome()> errand, const Limits& limits, std::string_view what);

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace orrery::worker
