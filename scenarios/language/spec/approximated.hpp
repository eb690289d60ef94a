// What no world models as a scenario says it, told before it runs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"

namespace orrery::scenarios {

/// One such thing.
struct Approximated {
  std::string subject;   ///< The key that it is about: "cluster.network.oversubscription".
  std::string sentence;  ///< What is done in its place, and how it can be said.
};

/// All of them, in the order of the format.
std::vector<Approximated> approximated(const Scenario& scenario);

}  // namespace orrery::scenarios
