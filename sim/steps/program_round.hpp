// One round of a program of an importer as stages of work.
#pragma once

#include "sim/steps/cycle.hpp"

namespace orrery::sim {

/// Speed of a node that is not declared, in floating point operations per second.
inline constexpr double kAssumedFlops = 1e9;

/// The stages of the program for as many workers as there are, rank i on the node of member i.
/// Transfers that name a rank which is not there are left out. What ranks of one node send to each
/// other takes no time.
Cycle program_round(const CycleInputs& inputs);

}  // namespace orrery::sim
