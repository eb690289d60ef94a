#include "core/models/pollux_job.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

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
  invariant(is_tuned() || (total_batch >= application.limits().initial_total &&
                           total_batch <= application.limits().total_max),
            "a job's batch lies within its application's limits");
}

/// How the job computes its batch on so many replicas; nothing where they are too many for it.
std::optional<BatchSplit> PolluxJob::split_for(ReplicaSpread spread) const {
  const BatchLimits& limits = application_->limits();
  BatchSplit split;
  if (!is_tuned()) {
    split = split_given_batch(total_batch_, spread.replicas, limits);
  } else if (profile_.empty()) {
    const int smallest = std::max(limits.initial_total, limits.atomic_min * spread.replicas);
    split = split_given_batch(smallest, spread.replicas, limits);
  } else {
    const GoodputModel model(profile_.parameters(), report_->stats, limits);
    const auto best = model.best_split(spread);
    if (!best) return std::nullopt;
    split = best->split;
    const int parts = spread.replicas * (split.accumulation_steps + 1);
    split.atomic_batch = std::min(split.atomic_batch, limits.total_max / parts);
  }
  if (split.total(spread.replicas) < limits.initial_total) return std::nullopt;
  return split;
}

void PolluxJob::measured_as(const PolluxApplication& application) {
  if (&application == application_) return;
  invariant(application.epochs_max() == application_->epochs_max() &&
                application.limits().initial_total == application_->limits().initial_total &&
                application.limits().total_max == application_->limits().total_max,
            "an application trains alike on all models of device");
  const auto profile_of = [this](const PolluxApplication* of) -> ThroughputProfile& {
    for (auto& [known, profile] : elsewhere_)
      if (known == of) return profile;
    return elsewhere_.emplace_back(of, ThroughputProfile{}).second;
  };
  profile_of(application_) = std::move(profile_);
  profile_ = std::move(profile_of(&application));
  application_ = &application;
}

bool PolluxJob::reallocate(std::span<const int> gpus_per_node, Duration delay) {
  invariant(delay.ns >= 0 && delay.ns % kSecond == 0, "a delay takes whole seconds");
  if (gpus_per_node.empty()) {
    placement_.clear();
    replicas_ = 0;
    return true;
  }
  const int replicas = std::accumulate(gpus_per_node.begin(), gpus_per_node.end(), 0);
  const auto split = split_for({static_cast<int>(gpus_per_node.size()), replicas});
  if (!split) return false;
  const std::optional<StepTime> time = application_->step_time(gpus_per_node, split->atomic_batch);
  if (!time) return false;
  placement_.assign(gpus_per_node.begin(), gpus_per_node.end());
  replicas_ = replicas;
  split_ = *split;
  time_ = *time;
  rescale_left_ = delay;
  measured_here_ = false;
  if (!completed_at_) update_rate();
  return true;
}

/// Notes what the workers see at the present placement, batch and epoch.
void PolluxJob::measure() {
  const ReplicaSpread spread{static_cast<int>(placement_.size()), replicas_};
  report_ = TrainingReport{
      {spread, split_.atomic_batch, time_.accumulation_s(), time_.step_s},
      split_,
      application_->gradient_stats(split_.total(replicas_), epoch_),
  };
  // What is the same as at the placement before is news all the same.
  if (!std::exchange(measured_here_, true)) taken_.reset();
  if (is_tuned()) profile_.add(report_->observed);
}

std::optional<TrainingReport> PolluxJob::take_report() {
  if (!measured_here_ || taken_ == report_) return std::nullopt;
  taken_ = report_;
  return report_;
}

/// The batch that is best by what was measured last.
void PolluxJob::retune() {
  if (!is_tuned()) return;
  const auto split = split_for({static_cast<int>(placement_.size()), replicas_});
  if (!split || *split == split_) return;
  const auto time = application_->step_time(placement_, split->atomic_batch);
  if (!time) return;
  split_ = *split;
  time_ = *time;
}

void PolluxJob::update_rate() {
  const int batch = split_.total(replicas_);
  const double scale = static_cast<double>(batch) / application_->limits().initial_total;
  rate_ = statistical_gain(application_->gradient_stats(batch, epoch_), scale) /
          time_.iteration_s(split_.accumulation_steps);
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
    measure();
    const double reached = progress_ + rate_ * static_cast<double>(left.ns / kSecond);
    if (reached < epoch_end_) {
      progress_ = reached;
      pass(left);
      left = Duration::zero();
      retune();
      update_rate();
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
      retune();
      update_rate();
    }
  }
  now_ = now_ + left;
}

}  // namespace orrery
