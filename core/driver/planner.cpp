#include "core/driver/planner.hpp"

#include <exception>
#include <utility>

#include "core/control/state_view.hpp"

namespace orrery {
namespace {

/// Thrown through a policy that has used its steps up.
struct OutOfSteps {};

class ThrowingBudget final : public StepBudget {
 public:
  using StepBudget::StepBudget;

 private:
  [[noreturn]] void exceeded() override { throw OutOfSteps{}; }
};

}  // namespace

Plan run_policy(Policy& policy, const PlanRequest& request, const ClusterView& view) {
  if (request.trigger == PlanTrigger::Submission)
    return policy.allocate(view.job(request.job), view);
  return policy.optimize(view);
}

std::vector<std::byte> saved_by(const Policy& policy) {
  ByteWriter out;
  policy.save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

std::string too_large(const Plan& plan, std::size_t jobs) {
  if (plan.grants.size() <= jobs) return {};
  return std::to_string(plan.grants.size()) + " grants for " + std::to_string(jobs) + " jobs";
}

void SavedPolicy::answered(std::optional<std::vector<std::byte>> state) {
  lost_ = 0;
  if (state) state_ = std::move(*state);
}

void SavedPolicy::answered(std::span<const std::byte> state) {
  lost_ = 0;
  state_.assign(state.begin(), state.end());
}

bool SavedPolicy::lost() {
  if (++lost_ < kLostBeforeAnew) return false;
  state_.clear();
  return true;
}

InlinePlanner::InlinePlanner(Policy& policy,
                             Duration latency,
                             PlanTimer* timer,
                             InlineOptions options)
    : policy_(&policy),
      latency_(latency),
      timer_(timer),
      options_(std::move(options)),
      beginning_(saved_by(policy)) {}

void InlinePlanner::ask(const PlanRequest& request, Controller& controller) {
  const State& state = controller.state();
  Touched touched = controller.take_touched();
  if (std::exchange(is_new_, false)) touched.complete = false;
  ThrowingBudget steps(options_.steps_max);
  const StateView view(state, touched.jobs, touched.complete, &steps);
  ready_at_ = state.now + latency_;
  try {
    if (timer_ != nullptr) timer_->begin(request.trigger);
    PlanProposed answer{
        request.view, request.trigger, request.job, run_policy(*policy_, request, view)};
    if (const std::string why = too_large(answer.plan, state.job_count()); !why.empty())
      return lost(request, PlanLoss::TooLarge, why);
    if (timer_ != nullptr) timer_->end(answer.plan);
    if (request.trigger != PlanTrigger::Submission) {
      saving_.clear();
      policy_->save(saving_);
      saved_.answered(saving_.bytes());
    } else {
      saved_.answered(std::nullopt);
    }
    answer_ = std::move(answer);
  } catch (const OutOfSteps&) {
    lost(request, PlanLoss::OutOfSteps, "after " + std::to_string(options_.steps_max) + " steps");
  } catch (const std::exception& error) {
    lost(request, PlanLoss::Failed, error.what());
  }
}

void InlinePlanner::lose(const PlanRequest& request,
                         Controller& controller,
                         PlanLoss loss,
                         std::string detail) {
  (void)controller.take_touched();
  ready_at_ = controller.state().now + latency_;
  lost(request, loss, std::move(detail));
}

// The policy was left in the middle of something: another takes its place.
void InlinePlanner::lost(const PlanRequest& request, PlanLoss loss, std::string detail) {
  const bool anew = saved_.lost();
  answer_ = PlanLost{request.view, request.trigger, request.job, loss, std::move(detail), anew};
  is_new_ = true;
  if (options_.fresh) {
    own_ = options_.fresh();
    policy_ = own_.get();
  }
  const bool begins = saved_.state().empty();
  ByteReader in(begins ? std::span<const std::byte>(beginning_) : saved_.state());
  policy_->load(in);
}

std::optional<PlanAnswer> InlinePlanner::take(Instant now) {
  if (!answer_ || now < ready_at_) return std::nullopt;
  return std::exchange(answer_, std::nullopt);
}

}  // namespace orrery
