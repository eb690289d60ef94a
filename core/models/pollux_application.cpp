#include "core/models/pollux_application.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery {

namespace {

/// Value at `batch` on the line through (lower, at_lower) and (upper, at_upper).
double between(int batch, int lower, int upper, double at_lower, double at_upper) {
  if (lower == upper) return at_lower;
  return ((batch - lower) * at_upper + (upper - batch) * at_lower) / (upper - lower);
}

}  // namespace

std::vector<int> smallest_rotation(std::span<const int> gpus_per_node) {
  std::vector<int> smallest(gpus_per_node.begin(), gpus_per_node.end());
  std::vector<int> turned = smallest;
  for (std::size_t turn = 1; turn < turned.size(); ++turn) {
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    smallest = std::min(smallest, turned);
  }
  return smallest;
}

PolluxApplication::PolluxApplication(PolluxTables tables) : tables_(std::move(tables)) {
  invariant(!tables_.runs.empty(), "an application has a training run");
  for (const TrainingRun& run : tables_.runs) {
    invariant(run.epochs.size() >= static_cast<std::size_t>(tables_.epochs_max),
              "a training run holds every epoch of a job");
  }
  invariant(tables_.limits.initial_total >= tables_.runs.front().total_batch &&
                tables_.limits.total_max <= tables_.runs.back().total_batch,
            "training runs cover the batch limits");
  for (const auto& [placement, curve] : tables_.placements)
    if (placement.size() == 1) gpus_profiled_ = std::max(gpus_profiled_, placement.front());
}

std::optional<StepTime> PolluxApplication::step_time(std::span<const int> gpus_per_node,
                                                     int atomic_batch) const {
  invariant(!gpus_per_node.empty(), "a placement has a node");
  const auto exact = tables_.placements.find(smallest_rotation(gpus_per_node));
  if (exact != tables_.placements.end())
    if (const auto time = exact->second.at(atomic_batch)) return time;
  const int replicas = std::accumulate(gpus_per_node.begin(), gpus_per_node.end(), 0);
  const int nodes = std::min(static_cast<int>(gpus_per_node.size()), tables_.nodes_profiled_max);
  if (exact == tables_.placements.end())
    if (const auto time = over_surface(nodes, replicas, atomic_batch)) return time;
  return beyond(nodes, replicas, atomic_batch);
}

std::optional<StepTime> PolluxApplication::over_surface(int nodes,
                                                        int replicas,
                                                        int atomic_batch) const {
  return tables_.surface.at({static_cast<double>(nodes),
                             static_cast<double>(replicas),
                             static_cast<double>(atomic_batch)});
}

/// At the largest batch up to `atomic_batch` that was measured on so many nodes and replicas, with
/// the computation of all of it.
std::optional<StepTime> PolluxApplication::nearest_batch(int nodes,
                                                         int replicas,
                                                         int atomic_batch) const {
  const auto one_node = tables_.placements.find({replicas});
  const auto at = [&](int batch) {
    if (nodes == 1 && one_node != tables_.placements.end()) return one_node->second.at(batch);
    return over_surface(nodes, replicas, batch);
  };
  if (const auto time = at(atomic_batch)) return time;
  int reached = tables_.limits.atomic_min;
  std::optional<StepTime> time = at(reached);
  if (!time) return std::nullopt;
  for (int missed = atomic_batch; missed - reached > 1;) {
    const int middle = reached + (missed - reached) / 2;
    const auto there = at(middle);
    (there ? reached : missed) = middle;
    if (there) time = there;
  }
  const double compute_s = time->accumulation_s() * atomic_batch / reached;
  return StepTime{compute_s + time->sync_s, time->sync_s};
}

std::optional<StepTime> PolluxApplication::beyond(int nodes, int replicas, int atomic_batch) const {
  const int most = std::min(replicas, gpus_profiled_ * nodes);
  if (most < 1) return std::nullopt;
  std::optional<StepTime> time = nearest_batch(nodes, most, atomic_batch);
  if (!time) return fewest_measured(nodes, most, atomic_batch);
  const int half = std::max(nodes, most / 2);
  if (most == replicas || half == most) return time;
  const auto at_half = nearest_batch(nodes, half, atomic_batch);
  if (!at_half) return time;
  const double growth = std::max(time->sync_s - at_half->sync_s, 0.0) / (most - half);
  const double more_s = growth * (replicas - most);
  return StepTime{time->step_s + more_s, time->sync_s + more_s};
}

/// With the fewest replicas above `above` that were measured on so many nodes: who measured whole
/// nodes alone has no time for a part of one, which synchronises no longer than the whole.
std::optional<StepTime> PolluxApplication::fewest_measured(int nodes,
                                                           int above,
                                                           int atomic_batch) const {
  for (int replicas = above + 1; replicas <= gpus_profiled_ * nodes; ++replicas)
    if (const auto time = nearest_batch(nodes, replicas, atomic_batch)) return time;
  return std::nullopt;
}

PolluxApplication::Neighbours PolluxApplication::runs_around(int total_batch) const {
  const auto upper = std::lower_bound(
      tables_.runs.begin(), tables_.runs.end(), total_batch, [](const TrainingRun& run, int batch) {
        return run.total_batch < batch;
      });
  invariant(upper != tables_.runs.end(), "a batch is no larger than the largest profiled one");
  if (upper->total_batch == total_batch) return {*upper, *upper};
  invariant(upper != tables_.runs.begin(), "a batch is no smaller than the smallest profiled one");
  return {*(upper - 1), *upper};
}

GradientStats PolluxApplication::gradient_stats(int total_batch, int epoch) const {
  const auto [lower, upper] = runs_around(total_batch);
  const GradientStats& low = lower.epochs[static_cast<std::size_t>(epoch)].stats;
  const GradientStats& high = upper.epochs[static_cast<std::size_t>(epoch)].stats;
  return {between(total_batch, lower.total_batch, upper.total_batch, low.sqr, high.sqr),
          between(total_batch, lower.total_batch, upper.total_batch, low.var, high.var)};
}

double PolluxApplication::progress_after(int epochs) const {
  if (epochs == 0) return 0;
  const auto last = static_cast<std::size_t>(epochs - 1);
  double least = tables_.runs.front().epochs[last].progress;
  for (const TrainingRun& run : tables_.runs) least = std::min(least, run.epochs[last].progress);
  return least;
}

double PolluxApplication::iterations_through(int total_batch, int epoch) const {
  const auto [lower, upper] = runs_around(total_batch);
  return between(total_batch,
                 lower.total_batch,
                 upper.total_batch,
                 lower.epochs[static_cast<std::size_t>(epoch)].iterations,
                 upper.epochs[static_cast<std::size_t>(epoch)].iterations);
}

double PolluxApplication::iterations_left(int total_batch, int epoch) const {
  const int last = tables_.epochs_max - 1;
  if (epoch >= last) return 1;
  return iterations_through(total_batch, last) - iterations_through(total_batch, epoch);
}

int PolluxApplication::replicas_max(int total_batch) const {
  const int by_batch = total_batch / tables_.limits.atomic_min;
  return tables_.replicas_max > 0 ? std::min(by_batch, tables_.replicas_max) : by_batch;
}

std::optional<double> PolluxApplication::packed_iteration_time(int total_batch,
                                                               int replicas,
                                                               int gpus_per_node) const {
  BatchLimits limits = tables_.limits;
  // The artifact's estimate accumulates on a single replica even at the initial batch.
  if (replicas == 1) limits.initial_total = 0;
  const BatchSplit split = split_given_batch(total_batch, replicas, limits);
  std::vector<int> placement(static_cast<std::size_t>(replicas / gpus_per_node), gpus_per_node);
  if (replicas % gpus_per_node != 0) placement.push_back(replicas % gpus_per_node);
  const std::optional<StepTime> time = step_time(placement, split.atomic_batch);
  if (!time) return std::nullopt;
  return time->iteration_s(split.accumulation_steps);
}

}  // namespace orrery
