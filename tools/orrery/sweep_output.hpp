// What a sweep prints and writes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/console/console.hpp"
#include "tools/orrery/sweep_page.hpp"
#include "tools/orrery/sweep_plan.hpp"
#include "tools/sweep/sweep_store.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace orrery::cli {

/// The cells that would run, as a table; those in `done` (ascending) are said to be done.
std::string dry_run_table(const SweepPlan& plan,
                          const std::vector<std::size_t>& done,
                          const Console& console);

/// The same as one document: {"sweep", "scenario", "cells": [{"cell", "set": {path: value},
/// "policy", "seed", "done"}]}.
std::string dry_run_json(const SweepPlan& plan, const std::vector<std::size_t>& done);

/// A table of means for each point and policy.
std::string sweep_text(const SweepPlan& plan, const SweepNumbers& numbers, const Console& console);

/// All cells with their summaries, and for each point what `compare` says of its policies, as one
/// document.
std::string sweep_json(const SweepPlan& plan,
                       const std::vector<SweepResult>& results,
                       const SweepNumbers& numbers);

/// Writes the files of a finished sweep. Errors: one cannot be written.
Status write_sweep(const SweepPlan& plan,
                   const std::vector<SweepResult>& results,
                   const SweepNumbers& numbers,
                   const SweepStore& store);

/// Names of what `write_sweep` writes, joined by commas, and why there is no page where there is
/// none.
std::string written_files();

}  // namespace orrery::cli
