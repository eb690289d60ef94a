// Why a seated job waits, in words.
#pragma once

#include <string>

#include "core/state/state.hpp"

namespace orrery {

/// Why the job cannot take its seats now, or ever, in words: "role actor waits for device 3 of node
/// 2, which job default.a holds". Empty where it can, or where it is not for its seats.
std::string why_not_seated(const State& state, const JobState& job);

}  // namespace orrery
