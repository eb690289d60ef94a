// What a what-if came to, for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/rehearsal/what_if.hpp"
#include "sim/results/summary.hpp"
#include "tools/console/console.hpp"

namespace orrery::cli {

/// Jobs in the table of one what-if, those that change most.
inline constexpr std::size_t kWhatIfJobsShown = 20;

/// One what-if that has run.
struct WhatIfTold {
  sim::WhatIfRun run;
  std::vector<sim::JobDifference> jobs;
  std::vector<std::string> remarks;
};

/// What the journal does not tell and is assumed or left out, in sentences.
std::vector<std::string> what_if_remarks(const sim::RecordedBasis& rehearsal);

/// The jobs whose completion changes most, one a row; at most kWhatIfJobsShown.
std::string what_if_table(const WhatIfTold& told, const ConsoleTraits& traits);

/// How many jobs complete sooner, later and at the same instant, and how many fail or complete that
/// did not; a line.
std::string what_if_counts(const WhatIfTold& told);

/// One JSON document of the recorded run and every what-if; ends with a newline. docs/rehearse.md
/// has the keys.
std::string what_if_json(const sim::RecordedBasis& rehearsal,
                         const std::vector<WhatIfTold>& all,
                         sim::MeasuredAs measured);

}  // namespace orrery::cli
