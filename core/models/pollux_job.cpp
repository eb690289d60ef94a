#include "core/models/pollux_job.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/invariant.hpp"

namespace orrery {

namespace {

constexpr std::int64_t kSecond = Duration::seconds(1).ns;

/// Nearest whole number, halves to the even one. `value` is 0 or more and below 2^52.
std::int64_t round_half_even(double value) {
  const double below = std::floor(value);
  const double rest = value - below;
  const auto whole = static_cast<std::int64_t>(below);
  if (rest > 0.5 || (rest == 0.5 && whole % 2 != 0)) return whole + 1;
  return whole;
}

}  // namespace

PolluxJob::PolluxJob(const PolluxApplication& application, int total_batch, Instant now)
    : application_(&application),
      total_batch_(total_batch),
      now_(now),
      epoch_end_(application.progress_after(1)) {
  invariant(total_batch >= application.limits().initial_total &&
                total_batch <= application.limits().total_max,
            "a job's batch lies within its application's limits");
}

bool PolluxJob::reallocate(std::span<const int> gpus_per_node) {
  if (gpus_per_node.empty()) {
    placement_.clear();
    replicas_ = 0;
    return true;
  }
  const int replicas = std::accumulate(gpus_per_node.begin(), gpus_per_node.end(), 0);
  const BatchSplit split = split_given_batch(total_batch_, replicas, application_->limits());
  const std::optional<StepTime> time = application_->step_time(gpus_per_node, split.atomic_batch);
  if (!time || split.total(replicas) < application_->limits().initial_total) return false;
  placement_.assign(gpus_per_node.begin(), gpus_per_node.end());
  replicas_ = replicas;
  split_ = split;
  iteration_s_ = time->iteration_s(split.accumulation_steps);
  rescale_left_ = kRescaleDelay;
  if (!completed_at_) update_rate();
  return true;
}

void PolluxJob::update_rate() {
  const int batch = split_.total(replicas_);
  const double scale = static_cast<double>(batch) / application_->limits().initial_total;
  rate_ = statistical_gain(application_->gradient_stats(batch, epoch_), scale) / iteration_s_;
}

/// Time with the GPUs held.
void PolluxJob::pass(Duration span) {
  now_ = now_ + span;
  attained_gpu_seconds_ += span.ns / kSecond * replicas_;
}

void PolluxJob::step(Duration span) {
  invariant(span.ns >= 0 && span.ns % kSecond == 0, "a step takes whole seconds");
  if (replicas_ == 0 || completed_at_) {
    now_ = now_ + span;
    return;
  }
  const Duration delay = std::min(rescale_left_, span);
  pass(delay);
  rescale_left_ = rescale_left_ - delay;
  Duration left = span - delay;
  while (left > Duration::zero() && !completed_at_) {
    const double reached = progress_ + rate_ * static_cast<double>(left.ns / kSecond);
    if (reached < epoch_end_) {
      progress_ = reached;
      pass(left);
      left = Duration::zero();
      break;
    }
    const Duration crossing = Duration::seconds(round_half_even((epoch_end_ - progress_) / rate_));
    invariant(crossing <= left, "an epoch that ends within a step ends by its last second");
    progress_ = epoch_end_;
    ++epoch_;
    pass(crossing);
    left = left - crossing;
    if (epoch_ == application_->epochs_max()) {
      completed_at_ = now_;
    } else {
      epoch_end_ = application_->progress_after(epoch_ + 1);
      update_rate();
    }
  }
  now_ = now_ + left;
}

}  // namespace orrery
