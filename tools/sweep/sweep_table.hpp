// The results of a sweep as one CSV.
#pragma once

#include <string>
#include <vector>

#include "sim/results/summary.hpp"
#include "tools/sweep/sweep_file.hpp"

namespace orrery::cli {

/// A finished cell with its numbers.
struct SweepResult {
  SweepCell cell;
  int exit_code = 0;  ///< Of its run: 0, 1 (expectations unmet) or 4 (no progress).
  sim::Summary summary;
};

/// One row per result, in their order: the cell's number, its parameters (empty: the scenario's own
/// value), policy, seed, exit code, and the numbers of the summary under their names, `unmet` as
/// how many. Nothing that was measured: equal inputs give equal bytes.
std::string sweep_csv(const SweepFile& sweep, const std::vector<SweepResult>& results);

}  // namespace orrery::cli
