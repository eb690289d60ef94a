// From a scenario that breaks something to the smallest one that breaks the same thing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// Runs a scenario and says what broke first; nothing where nothing did.
using TryScenario = std::function<std::optional<Violation>(const scenarios::Scenario&)>;

struct Shrunk {
  scenarios::Scenario scenario;
  Violation violation;     ///< Of that scenario; of the kind asked for.
  std::uint64_t runs = 0;  ///< That it took.
};

/// Drops jobs, faults, requests, roles, scripts and nodes, halves of the lists first, then one by
/// one, and makes values plain, as long as a violation of the same kind is left and `go_on` is
/// true. `found` is what `scenario` breaks.
Shrunk shrink(const scenarios::Scenario& scenario,
              const Violation& found,
              const TryScenario& attempt,
              const std::function<bool()>& go_on);

}  // namespace orrery::sim
