// The runs behind a parity report: some in world cluster to learn from, others to be measured, and
// those of the model that predict them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sim/calibration/calibration.hpp"
#include "sim/calibration/parity.hpp"
#include "tools/console/console.hpp"
#include "tools/orrery/scenario_runs.hpp"

namespace orrery::cli {

struct ParityPlan {
  std::size_t training = 3;
  std::size_t measured = 5;
  std::size_t predicted = 50;
  std::size_t parallel = 1;
};

/// One scenario, predicted and measured. Times are those of the runs on this machine, which are
/// `time_scale` times faster than the scenario says.
struct ParityScenario {
  std::string name;
  std::string description;
  std::string policy;
  double time_scale = 1;
  sim::Calibration calibration;
  sim::Parity parity;
  std::vector<std::string> remarks;  ///< Sentences: what the model was not told.
};

/// Runs `scenarios`, which fit world cluster, and compares; the journals of all runs stay below
/// `journals`. Errors: a run in world cluster that could not be made, or no run of a scenario
/// started anything.
Result<std::vector<ParityScenario>> run_parity_plan(const std::vector<LoadedScenario>& scenarios,
                                                    const ParityPlan& plan,
                                                    const std::filesystem::path& journals,
                                                    Console& console);

/// The scenario that the model runs to predict `scaled`, a scenario in real time: with the times of
/// the calibration where it has them. What a job says itself of its start is lengthened as much as
/// the start of others is. Checkpoints are as the scenario says.
scenarios::Scenario predicting_scenario(const scenarios::Scenario& scaled,
                                        const sim::Calibration& calibration);

}  // namespace orrery::cli
