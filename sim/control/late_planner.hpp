// A planner whose policy takes a time that cannot be foretold.
#pragma once

#include <optional>

#include "core/base/random.hpp"
#include "core/driver/planner.hpp"

namespace orrery::sim {

/// An InlinePlanner whose answers come up to `late_max` later than `latency`, drawn for each. With
/// a zero `late_max` it is just that planner.
class LatePlanner final : public Planner {
 public:
  /// `policy` and `timer` (may be null) must outlive the planner.
  LatePlanner(Policy& policy, Duration latency, PlanTimer* timer, Random random, Duration late_max)
      : inner_(policy, latency, timer), random_(random), late_max_(late_max) {}

  void ask(const PlanRequest& request, Controller& controller) override {
    inner_.ask(request, controller);
    if (late_max_ > Duration::zero()) late_ = Duration{random_.between(1, late_max_.ns)};
  }

  bool is_busy() const override { return inner_.is_busy(); }

  std::optional<PlanProposed> take(Instant now) override {
    if (!inner_.is_busy() || now < ready_at()) return std::nullopt;
    return inner_.take(now);
  }

  Instant ready_at() const override {
    const Instant at = inner_.ready_at();
    return at.is_never() ? at : at + late_;
  }

 private:
  InlinePlanner inner_;
  Random random_;
  Duration late_max_;
  Duration late_;
};

}  // namespace orrery::sim
