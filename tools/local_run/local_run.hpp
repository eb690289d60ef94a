// One run of a scenario with real processes on this machine.
#pragma once

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "runtime/local/local_world.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/run.hpp"
#include "sim/run/workload.hpp"

namespace orrery::cli {

/// What a run gave, and what was measured of its world.
struct LocalRun {
  sim::RunReport report;
  runtime::LocalCounters counters;
};

/// Everything in a scenario that the local world cannot do; empty where it can run there. It has
/// one node, each role needs a command, and nothing but the commands themselves goes wrong.
Errors unfit_for_local(const scenarios::Scenario& scenario, const sim::LoadedWorkload& workload);

/// Runs a scenario in the local world, on the real clock; `work`, `workers` and `timing` are the
/// model's, here the jobs' commands decide. The policy thinks on a thread of its own and must be
/// fresh. Errors: the scenario is unfit, or the store failed.
Result<LocalRun> run_local(const scenarios::Scenario& scenario,
                           const sim::LoadedWorkload& workload,
                           Policy& policy,
                           const sim::RunOptions& options);

}  // namespace orrery::cli
