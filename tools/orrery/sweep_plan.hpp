// A sweep that can be run: its file, checked against its scenario at every point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/orrery/child_pool.hpp"
#include "tools/sweep/sweep_file.hpp"
#include "tools/sweep/sweep_store.hpp"

namespace orrery::cli {

struct SweepPlan {
  SweepFile sweep;       ///< Its policies and seeds are not empty.
  std::string scenario;  ///< Its absolute path.
  std::vector<SweepCell> cells;
  SweepIdentity identity;
  std::uint64_t jobs_each = 0;  ///< Of the first cell; 0: not known.
};

/// How much is looked at before anything runs.
enum class SweepCheck {
  All,   ///< Also the files of the workload, once for each that the points name.
  Parts  ///< The scenario's text only: for a process that runs some cells, whose sweep was checked.
};

/// Reads a sweep's file and its scenario. Errors, all at once: anything wrong with the file; a
/// path, value, policy or parameter that the scenario refuses at any point, each once, with the
/// line of the sweep's file; a workload that cannot be read.
Result<SweepPlan> plan_sweep(const std::string& path, SweepCheck check);

/// Runs one cell as the body of a task and sends its answer.
ExitCode run_cell(const SweepPlan& plan, const SweepCell& cell, ChildReport& report);

}  // namespace orrery::cli
