#include "core/models/goodput_table.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace orrery {

namespace {

/// The entry of the size, which is made where there is none.
template <class T>
T& entry(std::array<std::vector<T>, 2>& by_size, ReplicaSpread spread, const T& fresh) {
  std::vector<T>& entries = by_size[spread.nodes > 1 ? 1 : 0];
  const auto replicas = static_cast<std::size_t>(spread.replicas);
  if (entries.size() <= replicas) entries.resize(replicas + 1, fresh);
  return entries[replicas];
}

}  // namespace

void GoodputTable::set_stats(const GradientStats& stats) {
  if (stats == stats_) return;
  stats_ = stats;
  for (std::vector<double>& goodputs : goodputs_) std::ranges::fill(goodputs, -1.0);
}

const GoodputTable::Times& GoodputTable::times_of(const GoodputModel& model, ReplicaSpread spread) {
  Times& times = entry(*times_, spread, Times{});
  if (!std::exchange(times.are_known, true)) times.splits = model.timed_splits(spread, samples_);
  return times;
}

double GoodputTable::at(ReplicaSpread spread) {
  double& goodput = entry(goodputs_, spread, -1.0);
  if (goodput < 0) {
    const GoodputModel model(parameters_, stats_, limits_);
    const auto choice = model.best_of(times_of(model, spread).splits, spread);
    goodput = choice ? choice->goodput : model.goodput(spread, {limits_.atomic_min, 0});
  }
  return goodput;
}

}  // namespace orrery
