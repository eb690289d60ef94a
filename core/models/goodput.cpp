#include "core/models/goodput.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery {

namespace {

// Tolerance of rounding up, and the stand-in for a time of zero where a logarithm follows.
constexpr double kCeilSlack = 1e-8;
constexpr double kTiny = 1e-8;

int ceil_with_slack(double value) { return static_cast<int>(std::ceil(value - kCeilSlack)); }

}  // namespace

BatchSplit split_batch(double total_batch, int replicas, const BatchLimits& limits) {
  const double local = total_batch / replicas;
  int accumulation_steps = ceil_with_slack(local / limits.atomic_max) - 1;
  if (replicas == 1 && local > limits.initial_total + kCeilSlack) {
    accumulation_steps = std::max(accumulation_steps, 1);
  }
  return {ceil_with_slack(local / (accumulation_steps + 1)), accumulation_steps};
}

BatchSplit split_given_batch(int total_batch, int replicas, const BatchLimits& limits) {
  invariant(replicas >= 1, "a batch is split over one replica at least");
  const int local = ceil_with_slack(static_cast<double>(total_batch) / replicas);
  // One replica: `local` is the whole batch, so the rule of two samples reads the same.
  BatchSplit split = split_batch(static_cast<double>(local) * replicas, replicas, limits);
  const int parts = replicas * (split.accumulation_steps + 1);
  split.atomic_batch = std::min(split.atomic_batch, limits.total_max / parts);
  return split;
}

double gradient_time(const ThroughputParameters& parameters, int atomic_batch) {
  return parameters.alpha_c + parameters.beta_c * atomic_batch;
}

double sync_time(const ThroughputParameters& parameters, ReplicaSpread spread) {
  double fixed = kTiny;
  double growth = kTiny;
  if (spread.nodes > 1) {
    fixed = parameters.alpha_n;
    growth = parameters.beta_n;
  } else if (spread.replicas > 1) {
    fixed = parameters.alpha_r;
    growth = parameters.beta_r;
  }
  return fixed + growth * std::max(static_cast<double>(spread.replicas - 2), kTiny);
}

double iteration_time(const ThroughputParameters& parameters,
                      ReplicaSpread spread,
                      BatchSplit split) {
  const double gradient = gradient_time(parameters, split.atomic_batch);
  const double sync = sync_time(parameters, spread);
  const double gamma = parameters.gamma;
  const double overlapped =
      math::exp(math::log(math::pow(gradient, gamma) + math::pow(sync, gamma)) / gamma);
  return split.accumulation_steps * gradient + overlapped;
}

double statistical_gain(const GradientStats& stats, double scale) {
  const double denominator = stats.var / scale + stats.sqr;
  return denominator > 0 ? (stats.var + stats.sqr) / denominator : 1.0;
}

double GoodputModel::throughput(ReplicaSpread spread, BatchSplit split) const {
  return split.total(spread.replicas) / iteration_time(parameters_, spread, split);
}

double GoodputModel::efficiency(int total_batch) const {
  const double scale = static_cast<double>(total_batch) / limits_.initial_total;
  return statistical_gain(stats_, scale) / scale;
}

double GoodputModel::goodput(ReplicaSpread spread, BatchSplit split) const {
  return throughput(spread, split) * efficiency(split.total(spread.replicas));
}

std::vector<GoodputModel::TimedSplit> GoodputModel::timed_splits(ReplicaSpread spread,
                                                                 int samples) const {
  std::vector<TimedSplit> splits;
  const int total_min = std::max(limits_.initial_total, limits_.atomic_min * spread.replicas);
  if (total_min > limits_.total_max) return splits;
  const double log_min = math::log(static_cast<double>(total_min));
  const double log_step =
      (math::log(static_cast<double>(limits_.total_max)) - log_min) / (samples - 1);
  splits.reserve(static_cast<std::size_t>(samples));
  for (int sample = 0; sample < samples; ++sample) {
    double total = math::exp(log_min + log_step * sample);
    // Both ends are whole examples, without the rounding of logarithms.
    if (sample == 0) total = total_min;
    if (sample == samples - 1) total = limits_.total_max;
    const BatchSplit split = split_batch(total, spread.replicas, limits_);
    if (split.atomic_batch < limits_.atomic_min || split.atomic_batch > limits_.atomic_max) {
      continue;
    }
    splits.push_back({split, throughput(spread, split)});
  }
  return splits;
}

std::optional<GoodputModel::Choice> GoodputModel::best_of(std::span<const TimedSplit> splits,
                                                          ReplicaSpread spread) const {
  std::optional<Choice> best;
  for (const TimedSplit& each : splits) {
    const double worth = each.throughput * efficiency(each.split.total(spread.replicas));
    if (!best || worth > best->goodput) best = Choice{worth, each.split};
  }
  return best;
}

}  // namespace orrery
