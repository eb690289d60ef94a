#include "core/models/goodput_table.hpp"

#include <cstddef>
#include <utility>

namespace orrery {

void GoodputTable::set_stats(const GradientStats& stats) {
  if (stats == stats_) return;
  stats_ = stats;
  for (std::vector<Entry>& entries : known_)
    for (Entry& entry : entries) entry.goodput = -1;
}

double GoodputTable::best(ReplicaSpread spread, Entry& entry) const {
  const GoodputModel model(parameters_, stats_, limits_);
  if (!std::exchange(entry.is_timed, true)) entry.splits = model.timed_splits(spread);
  if (const auto choice = model.best_of(entry.splits, spread)) return choice->goodput;
  return model.goodput(spread, {limits_.atomic_min, 0});
}

double GoodputTable::at(ReplicaSpread spread) {
  std::vector<Entry>& known = known_[spread.nodes > 1 ? 1 : 0];
  const auto replicas = static_cast<std::size_t>(spread.replicas);
  if (known.size() <= replicas) known.resize(replicas + 1);
  Entry& entry = known[replicas];
  if (entry.goodput < 0) entry.goodput = best(spread, entry);
  return entry.goodput;
}

}  // namespace orrery
