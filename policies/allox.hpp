// allox: jobs are matched to devices and places in their queues, so that completion times are
// least.
#pragma once

#include <cstddef>
#include <vector>

#include "policies/device_shares.hpp"

namespace orrery::policies {

struct AlloXSettings {
  double considered = 1;    ///< Part of the waiting jobs that is matched, the oldest; 0 to 1.
  std::size_t depth = 400;  ///< And no more than so many, at least 1.
};

/// AlloX (T. N. Le et al., *AlloX: Compute Allocation in Hybrid Clusters*, EuroSys 2020), as
/// Gavel's artifact has it. A job of one device that had a type to itself keeps it. The others, or
/// the oldest of them, but at least as many as devices are free, are matched to devices and
/// positions: the one that runs last on a device is in position 1, and a job in position c costs c
/// times what it takes there, for that is how much it adds to the sum of all completion times. Of
/// the matching of least cost the jobs that run first get share 1 of their type; a gang is matched
/// as if it needed one device and gets 1 / k, beside what it had. All others get nothing.
///
/// `before`: the shares of each job when they were last computed; empty: there are none.
/// O(n^2 m) for n matched jobs and m positions, at most 2 n for each type.
Shares allox_shares(const Sharing& sharing, const Shares& before, const AlloXSettings& settings);

/// For each row the column that it has in the assignment of least sum, each column once at most.
/// Rows are equally long and no fewer columns than rows. Equal matrices give equal answers.
std::vector<std::size_t> least_assignment(const std::vector<std::vector<double>>& costs);

}  // namespace orrery::policies
