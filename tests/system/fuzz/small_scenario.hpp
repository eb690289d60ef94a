// Scenarios of any bytes that are small enough to be run for each input, for the targets that do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/plan/policy.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/workload.hpp"

namespace orrery::tests {

/// What a run needs.
struct SmallScenario {
  scenarios::Scenario scenario;  ///< Of world `model`, at most a simulated `until_max`.
  std::shared_ptr<const sim::LoadedWorkload> workload;
  std::function<std::unique_ptr<Policy>()> policy;  ///< A fresh one each time.
};

/// Nothing where the loader refuses it (with words, or an invariant breaks), where it names files
/// or a policy that is not built, or where it is large.
std::optional<SmallScenario> small_scenario(const std::uint8_t* data,
                                            std::size_t size,
                                            Duration until_max);

}  // namespace orrery::tests
