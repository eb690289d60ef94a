// Between the controller that asks for a plan and the policy that makes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/units.hpp"
#include "core/control/controller.hpp"
#include "core/plan/policy.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// Told when a policy begins and ends to think; the only way to time it, since the core has no
/// clock. Both are called on the thread that runs the policy. `end` is not called for a plan that
/// was lost.
class PlanTimer {
 public:
  virtual ~PlanTimer() = default;
  virtual void begin(PlanTrigger trigger) = 0;
  virtual void end(const Plan& plan) = 0;
};

/// What comes of asking: a plan, or why there is none.
using PlanAnswer = std::variant<PlanProposed, PlanLost>;

/// Runs the policy outside `step`. One request at a time; each is answered once, whatever the
/// policy does.
class Planner {
 public:
  virtual ~Planner() = default;

  /// Begins to answer; not called while busy.
  virtual void ask(const PlanRequest& request, Controller& controller) = 0;

  /// Whether an answer is still to come.
  virtual bool is_busy() const = 0;

  /// The answer, if there is one at `now`.
  virtual std::optional<PlanAnswer> take(Instant now) = 0;

  /// When to look again; never where the planner wakes the world by itself or is idle.
  virtual Instant ready_at() const = 0;

  /// Whether the policy would plan nothing in cycles to come (Policy::is_settled); by default not
  /// known.
  virtual bool is_settled() const { return false; }

  /// The controller has stepped this record, an event as the journal holds it. For planners that
  /// follow the journal with a state of their own.
  virtual void stepped(std::span<const std::byte> record) { static_cast<void>(record); }
};

/// After so many lost plans in a row the policy begins anew, for what it saved may be the reason.
inline constexpr std::uint32_t kLostBeforeAnew = 5;

/// What a policy saved, and from where it goes on after a plan was lost.
class SavedPolicy {
 public:
  /// The policy has answered. With `optimize` it tells its state; with `allocate`, which may come a
  /// thousand times more often, nothing.
  void answered(std::optional<std::vector<std::byte>> state);

  /// The same with a state that is elsewhere, and copied.
  void answered(std::span<const std::byte> state);

  /// A plan was lost. Whether the policy goes on from its beginning, as PlanLost says.
  bool lost();

  /// Empty: its beginning.
  std::span<const std::byte> state() const { return state_; }

 private:
  std::vector<std::byte> state_;
  std::uint32_t lost_ = 0;  ///< In a row.
};

/// Why no allocator needs to look at the plan: it names more jobs than the view had, each of which
/// a plan speaks of once. Empty where it does not.
std::string too_large(const Plan& plan, std::size_t jobs);

/// How often a policy may ask its view for one plan: a billion, which no plan for 20,000 jobs comes
/// near and a loop reaches within seconds.
inline constexpr std::uint64_t kStepsMax = 1'000'000'000;

/// How an InlinePlanner contains its policy.
struct InlineOptions {
  /// Makes a policy as the first one was; where it is null, that one goes on after it has failed.
  std::function<std::unique_ptr<Policy>()> fresh = nullptr;
  /// Calls of the view for one plan, above 0; what stands for time where there is no clock.
  std::uint64_t steps_max = kStepsMax;
};

/// Runs the policy at once on the controller's own state; hands the answer out after a modelled
/// latency. For simulators.
///
/// A policy that throws, or asks its view more often than it may, has lost its plan. One that loops
/// without a look at its view is not stopped: that takes a process (runtime/planner).
class InlinePlanner final : public Planner {
 public:
  /// `policy` and `timer` (may be null) must outlive the planner.
  InlinePlanner(Policy& policy, Duration latency, PlanTimer* timer, InlineOptions options = {});

  void ask(const PlanRequest& request, Controller& controller) override;

  bool is_busy() const override { return answer_.has_value(); }

  std::optional<PlanAnswer> take(Instant now) override;

  Instant ready_at() const override { return answer_ ? ready_at_ : Instant::never(); }

  bool is_settled() const override { return policy_->is_settled(); }

  /// In place of `ask`: what the policy would have answered is lost, and the policy with it.
  void lose(const PlanRequest& request, Controller& controller, PlanLoss loss, std::string detail);

 private:
  void lost(const PlanRequest& request, PlanLoss loss, std::string detail);

  Policy* policy_;
  std::unique_ptr<Policy> own_;  ///< That took the place of the first.
  Duration latency_;
  PlanTimer* timer_;
  InlineOptions options_;
  std::vector<std::byte> beginning_;  ///< What the first policy saved before it was asked.
  SavedPolicy saved_;
  ByteWriter saving_;
  bool is_new_ = false;  ///< The policy has not seen what was touched before it.
  std::optional<PlanAnswer> answer_;
  Instant ready_at_;
};

/// Asks a policy what a request asks for, on any view.
Plan run_policy(Policy& policy, const PlanRequest& request, const ClusterView& view);

/// What the policy saves.
std::vector<std::byte> saved_by(const Policy& policy);

}  // namespace orrery
