// One run of a scenario under control by agents: leaders that come and go, nodes behind a network.
#pragma once

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// As `run_model`, which calls it where `scenario.needs_agents()`. `fabric` may be null. `played`
/// has the failures that `scenario` draws. Without `options.fresh_policy` all leaders share
/// `policy`.
Result<RunReport> run_with_agents(const scenarios::Scenario& scenario,
                                  const scenarios::Scenario& played,
                                  const LoadedWorkload& workload,
                                  Policy& policy,
                                  const RunOptions& options,
                                  Fabric* fabric);

}  // namespace orrery::sim
