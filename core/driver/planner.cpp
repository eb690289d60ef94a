#include "core/driver/planner.hpp"

#include <utility>

#include "core/control/state_view.hpp"

namespace orrery {

Plan run_policy(Policy& policy, const PlanRequest& request, const ClusterView& view) {
  if (request.trigger == PlanTrigger::Submission)
    return policy.allocate(view.job(request.job), view);
  return policy.optimize(view);
}

void InlinePlanner::ask(const PlanRequest& request, Controller& controller) {
  const Touched touched = controller.take_touched();
  const StateView view(controller.state(), touched.jobs, touched.complete);
  if (timer_ != nullptr) timer_->begin(request.trigger);
  PlanProposed answer{
      request.view, request.trigger, request.job, run_policy(policy_, request, view)};
  if (timer_ != nullptr) timer_->end(answer.plan);
  answer_ = std::move(answer);
  ready_at_ = controller.state().now + latency_;
}

std::optional<PlanProposed> InlinePlanner::take(Instant now) {
  if (!answer_ || now < ready_at_) return std::nullopt;
  return std::exchange(answer_, std::nullopt);
}

}  // namespace orrery
