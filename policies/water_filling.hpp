// Max-min fairness to the end: also what is left when the least can rise no more is shared fairly.
#pragma once

#include <vector>

#include "policies/device_shares.hpp"

namespace orrery::policies {

/// Shares of which the least k_i speed_i(x) / (w_i C_i) is greatest (`max_min_shares`), of all such
/// those of which the next least is greatest, and so on: none can rise but at the cost of one that
/// is as low or lower.
///
/// D. Narayanan et al., OSDI 2020, section 4.3 (water filling). Level by level: the largest level
/// that all jobs not yet settled can have together, and then those are settled that hold it down.
/// The paper finds them by a program with integers, here their rows' duals tell: one above 0 means
/// that the level could not rise without this job, and there is always one. At most one linear
/// program for each job.
Shares water_filled_shares(const Sharing& sharing);

/// k_i speed_i(x) / (w_i C_i) of each job; 0 of one that runs nowhere.
std::vector<double> normalised_speeds(const Sharing& sharing, const Shares& shares);

}  // namespace orrery::policies
