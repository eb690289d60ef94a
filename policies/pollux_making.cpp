#include "policies/pollux_making.hpp"

#include <algorithm>
#include <cstdint>

namespace orrery::policies {

PolluxParameters pollux_parameters(const ParameterValues& values) {
  PolluxParameters out;
  out.period = values.duration("period");
  out.restart = values.duration("restart");
  out.search.fairness = values.number("fairness");
  out.search.avoid_interference = values.flag("avoid_interference");
  out.search.population = static_cast<std::int32_t>(values.integer("population"));
  out.search.generations = static_cast<std::int32_t>(values.integer("generations"));
  out.search.patience = static_cast<std::int32_t>(values.integer("patience"));
  out.update_after = values.integer("update_after");
  out.update_population = static_cast<std::int32_t>(values.integer("update_population"));
  out.update_patience = static_cast<std::int32_t>(values.integer("update_patience"));
  out.block_nodes = static_cast<std::int32_t>(values.integer("block_nodes"));
  out.search.budget = values.integer("budget");
  out.autoscale.nodes_min =
      static_cast<std::int32_t>(std::min<std::int64_t>(values.integer("nodes_min"), 1'000'000'000));
  out.autoscale.utility_low = values.number("utility_low");
  out.autoscale.utility_high = values.number("utility_high");
  return out;
}

}  // namespace orrery::policies
