#include "sim/fabric/fair_share.hpp"

#include <limits>

namespace orrery::sim {

double fair_level(std::span<const LinkDemand> demands, std::int64_t capacity) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  double level = 0;
  // Each round lets those go that ask for no more than the others would get; the level only rises,
  // and two to five rounds are the rule.
  while (true) {
    std::int64_t left = capacity;
    std::uint64_t flows = 0;
    for (const LinkDemand& demand : demands) {
      if (static_cast<double>(demand.units) <= level * demand.flows)
        left -= demand.units;
      else
        flows += demand.flows;
    }
    if (flows == 0) return kAll;
    const double higher = static_cast<double>(left) / static_cast<double>(flows);
    if (higher <= level) return level;
    level = higher;
  }
}

}  // namespace orrery::sim
