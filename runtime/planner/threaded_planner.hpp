// A planner that thinks on a thread of its own, so that leases are renewed meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/driver/planner.hpp"

namespace orrery::runtime {

/// Copies the state when asked, runs the policy on the copy, and wakes the driver when done.
class ThreadedPlanner final : public Planner {
 public:
  /// `policy` and `timer` (may be null) outlive the planner and are used on its thread only.
  /// `wake` is called from that thread when an answer is ready; it must make the world's
  /// `wait_events` return.
  ThreadedPlanner(Policy& policy, std::function<void()> wake, PlanTimer* timer);

  ThreadedPlanner(const ThreadedPlanner&) = delete;
  ThreadedPlanner& operator=(const ThreadedPlanner&) = delete;

  /// Waits for a policy that is still thinking.
  ~ThreadedPlanner() override;

  void ask(const PlanRequest& request, Controller& controller) override;
  bool is_busy() const override;
  std::optional<PlanProposed> take(Instant now) override;

  Instant ready_at() const override { return Instant::never(); }

 private:
  void think();

  Policy& policy_;
  std::function<void()> wake_;
  PlanTimer* timer_;
  mutable std::mutex mutex_;
  std::condition_variable asked_;
  bool busy_ = false;  ///< From `ask` until `take` gave the answer.
  bool stopping_ = false;
  std::optional<PlanRequest> request_;
  std::optional<PlanProposed> answer_;
  State state_;  ///< The copy; the thread's while it thinks.
  Touched touched_;
  std::thread thread_;
};

}  // namespace orrery::runtime
