// A planner whose policy takes a time that cannot be foretold, and now and then gives no answer, or
// one that makes no sense.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/random.hpp"
#include "core/driver/planner.hpp"
#include "sim/control/garbled_plan.hpp"

namespace orrery::sim {

/// How late answers are, and how many never come.
struct PlannerFaults {
  Duration late_max;  ///< Up to so much later than the latency, drawn for each.
  double lost = 0;    ///< The part of all answers that never come, 0 to 1.
  Duration deadline = Duration::forever();   ///< A later answer than this is lost.
  double garbled = 0;                        ///< The part of all plans with grants that no policy
                                             ///< has proposed, 0 to 1.
  Instant garbled_until = Instant::never();  ///< Plans that are asked for later have none.
};

/// An InlinePlanner with faults: answers come later, drawn for each, and some are lost. Half of
/// those are given up at the deadline; for the other half the process of the policy ends at once.
/// Without faults it is just that planner.
class LatePlanner final : public Planner {
 public:
  /// `policy` and `timer` (may be null) must outlive the planner. What is drawn comes from streams
  /// of `seed`.
  LatePlanner(Policy& policy,
              Duration latency,
              PlanTimer* timer,
              std::uint64_t seed,
              PlannerFaults faults,
              InlineOptions options = {})
      : inner_(policy, Duration::zero(), timer, std::move(options)),
        random_(Random::stream(seed, "late planner")),
        losses_(Random::stream(seed, "lost plans")),
        garbles_(Random::stream(seed, "garbled plans")),
        latency_(latency),
        faults_(faults) {}

  void ask(const PlanRequest& request, Controller& controller) override {
    late_ = latency_;
    garble_.reset();
    if (faults_.garbled > 0 && controller.state().now < faults_.garbled_until &&
        garbles_.chance(faults_.garbled))
      garble_ = garbled_plan(garbles_, controller.state());
    if (faults_.lost > 0 && losses_.chance(faults_.lost)) {
      if (losses_.chance(0.5))
        return inner_.lose(request, controller, PlanLoss::Ended, "killed by a fault");
      late_ = Duration::forever();
    } else if (faults_.late_max > Duration::zero()) {
      late_ = late_ + Duration{random_.between(1, faults_.late_max.ns)};
    }
    if (late_ <= faults_.deadline) return inner_.ask(request, controller);
    late_ = faults_.deadline;
    inner_.lose(request, controller, PlanLoss::Late, "no answer within the deadline");
  }

  bool is_busy() const override { return inner_.is_busy(); }

  std::optional<PlanAnswer> take(Instant now) override {
    if (!inner_.is_busy() || now < ready_at()) return std::nullopt;
    std::optional<PlanAnswer> answer = inner_.take(now);
    if (answer && garble_)
      if (auto* proposed = std::get_if<PlanProposed>(&*answer))
        add_grants(*garble_, proposed->plan);
    return answer;
  }

  Instant ready_at() const override {
    const Instant at = inner_.ready_at();
    return at.is_never() ? at : at + late_;
  }

 private:
  InlinePlanner inner_;
  Random random_;
  Random losses_;
  Random garbles_;
  Duration latency_;
  PlannerFaults faults_;
  Duration late_;               ///< Of the answer at hand,
  std::optional<Plan> garble_;  ///< and what is added to it.
};

}  // namespace orrery::sim
