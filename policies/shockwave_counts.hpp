// Shockwave's first program: how many rounds of a window each job gets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/shockwave_window.hpp"

namespace orrery::policies {

/// Of this job in a window of these settings; its room and fair finish time are not looked at.
RoundsAhead rounds_ahead(const WindowJob& job, const WindowSettings& settings);

struct RoundCounts {
  std::vector<int> rounds;  ///< Of each job, 0 to those of the window.
  double objective = 0;
};

/// The counts of the greatest objective (`solve_window`) under the room of all rounds together,
/// with utilities by `weights`; where these are empty, all 1 and with finish times kept. Nothing
/// where these cannot be. Exact to rounding, unless `settings.steps` ends it first.
///
/// The longest rest takes one of jobs x rounds values. For each of them it is known how many rounds
/// every job has to have, and what the fractional knapsack of all other rounds gains at most: from
/// the longest rest down each value forces one round more. They are then solved exactly
/// (`concave_knapsack.hpp`), the most promising first, until the next one promises no more than the
/// best has.
std::optional<RoundCounts> best_counts(const std::vector<WindowJob>& jobs,
                                       const WindowPlace& place,
                                       const WindowSettings& settings,
                                       const std::vector<double>& weights,
                                       KnapsackSolver& solver);

}  // namespace orrery::policies
