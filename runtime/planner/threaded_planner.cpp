#include "runtime/planner/threaded_planner.hpp"

#include <utility>

#include "core/control/state_view.hpp"

namespace orrery::runtime {

ThreadedPlanner::ThreadedPlanner(Policy& policy, std::function<void()> wake, PlanTimer* timer)
    : policy_(policy), wake_(std::move(wake)), timer_(timer), thread_([this] { think(); }) {}

ThreadedPlanner::~ThreadedPlanner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

void ThreadedPlanner::ask(const PlanRequest& request, Controller& controller) {
  // The thread waits for a request, so the copy is ours until we hand one over.
  state_ = controller.state();
  touched_ = controller.take_touched();
  {
    const std::lock_guard lock(mutex_);
    request_ = request;
    busy_ = true;
  }
  asked_.notify_one();
}

bool ThreadedPlanner::is_busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

std::optional<PlanProposed> ThreadedPlanner::take(Instant) {
  const std::lock_guard lock(mutex_);
  if (answer_) busy_ = false;
  return std::exchange(answer_, std::nullopt);
}

void ThreadedPlanner::think() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stopping_ || request_.has_value(); });
    if (stopping_) return;
    const PlanRequest request = *std::exchange(request_, std::nullopt);
    lock.unlock();
    const StateView view(state_, touched_.jobs, touched_.complete);
    if (timer_ != nullptr) timer_->begin(request.trigger);
    PlanProposed answer{
        request.view, request.trigger, request.job, run_policy(policy_, request, view)};
    if (timer_ != nullptr) timer_->end(answer.plan);
    lock.lock();
    answer_ = std::move(answer);
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace orrery::runtime
