// The policies that storms draw from in tests.
#pragma once

#include <vector>

#include "policies/registry.hpp"
#include "sim/storm/storm_plan.hpp"

namespace orrery::tests {

/// Every registered policy with its defaults.
inline std::vector<scenarios::PolicyChoice> storm_policies() {
  std::vector<scenarios::PolicyChoice> choices;
  for (const policies::PolicyRow& row : policies::rows())
    choices.push_back({std::string(row.name), {}, {}});
  return choices;
}

}  // namespace orrery::tests
