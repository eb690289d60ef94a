// Between the controller that asks for a plan and the policy that makes one.
#pragma once

#include <optional>

#include "core/base/units.hpp"
#include "core/control/controller.hpp"
#include "core/plan/policy.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// Told when a policy begins and ends to think; the only way to time it, since the core has no
/// clock. Both are called on the thread that runs the policy.
class PlanTimer {
 public:
  virtual ~PlanTimer() = default;
  virtual void begin(PlanTrigger trigger) = 0;
  virtual void end(const Plan& plan) = 0;
};

/// Runs the policy outside `step`. One request at a time.
class Planner {
 public:
  virtual ~Planner() = default;

  /// Begins to answer; not called while busy.
  virtual void ask(const PlanRequest& request, Controller& controller) = 0;

  /// Whether an answer is still to come.
  virtual bool is_busy() const = 0;

  /// The answer, if there is one at `now`.
  virtual std::optional<PlanProposed> take(Instant now) = 0;

  /// When to look again; never where the planner wakes the world by itself or is idle.
  virtual Instant ready_at() const = 0;
};

/// Runs the policy at once on the controller's own state; hands the answer out after a modelled
/// latency. For simulators.
class InlinePlanner final : public Planner {
 public:
  /// `policy` and `timer` (may be null) must outlive the planner.
  InlinePlanner(Policy& policy, Duration latency, PlanTimer* timer)
      : policy_(policy), latency_(latency), timer_(timer) {}

  void ask(const PlanRequest& request, Controller& controller) override;

  bool is_busy() const override { return answer_.has_value(); }

  std::optional<PlanProposed> take(Instant now) override;

  Instant ready_at() const override { return answer_ ? ready_at_ : Instant::never(); }

 private:
  Policy& policy_;
  Duration latency_;
  PlanTimer* timer_;
  std::optional<PlanProposed> answer_;
  Instant ready_at_;
};

/// Asks a policy what a request asks for, on any view.
Plan run_policy(Policy& policy, const PlanRequest& request, const ClusterView& view);

}  // namespace orrery
