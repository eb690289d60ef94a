#include "tools/orrery/approximations.hpp"

#include <string_view>

#include "scenarios/language/spec/approximated.hpp"

namespace orrery::cli {
namespace {

std::string_view left_out_at(scenarios::Fidelity level) {
  switch (level) {
    case scenarios::Fidelity::L0:
      return "Level L0: no link is shared, so no job slows a neighbour; what travels takes the "
             "time "
             "that it takes alone.";
    case scenarios::Fidelity::L1:
      return "Level L1: each link is shared by itself; work that a tight link slows still counts "
             "with all that it asks for on its other links, so nothing is too fast, and some is "
             "too "
             "slow where much is saturated.";
    case scenarios::Fidelity::L2:
      return "Level L2: what travels is a fluid that shares links max-min fairly; packets, "
             "congestion control and the rounds of a collective are left out.";
    case scenarios::Fidelity::L3:
      return "Level L3: messages are fluids that share links max-min fairly; packets and "
             "congestion "
             "control are left out.";
  }
  return {};
}

}  // namespace

std::vector<std::string> approximations(const scenarios::Scenario& scenario,
                                        const std::vector<std::string>& warnings) {
  std::vector<std::string> sentences;
  if (scenario.world != scenarios::World::Cluster)
    sentences.emplace_back(left_out_at(scenario.fidelity));
  for (const scenarios::Approximated& each : scenarios::approximated(scenario))
    sentences.push_back(each.subject + ": " + each.sentence + ".");
  sentences.insert(sentences.end(), warnings.begin(), warnings.end());
  return sentences;
}

}  // namespace orrery::cli
