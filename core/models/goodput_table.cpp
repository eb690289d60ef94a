#include "core/models/goodput_table.hpp"

#include <cstddef>

namespace orrery {

GoodputTable::GoodputTable(const ThroughputParameters& parameters,
                           const GradientStats& stats,
                           const BatchLimits& limits)
    : parameters_(parameters), limits_(limits), stats_(stats) {}

double GoodputTable::best(ReplicaSpread spread) const {
  const GoodputModel model(parameters_, stats_, limits_);
  const auto choice = model.best_split(spread);
  return choice ? choice->goodput : model.goodput(spread, {limits_.atomic_min, 0});
}

double GoodputTable::at(ReplicaSpread spread) {
  std::vector<double>& known = known_[spread.nodes > 1 ? 1 : 0];
  const auto replicas = static_cast<std::size_t>(spread.replicas);
  if (known.size() <= replicas) known.resize(replicas + 1, -1);
  if (known[replicas] < 0) known[replicas] = best(spread);
  return known[replicas];
}

}  // namespace orrery
