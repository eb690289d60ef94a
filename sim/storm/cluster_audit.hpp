// What of a state follows from other parts of it: ledger, free index, sets and sums, made anew in
// the plainest way. Nothing of the core is called for it but to read what is compared.
#pragma once

#include <string>
#include <vector>

#include "core/state/state.hpp"

namespace orrery::sim {

/// What is not as it follows from the rest of the state; empty: nothing. Costs what all nodes,
/// leases and jobs cost.
std::vector<std::string> false_in_cluster(const State& state);

/// The same of one job alone.
std::vector<std::string> false_in_job(const State& state, const JobState& job);

}  // namespace orrery::sim
