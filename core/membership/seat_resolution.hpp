// A job's placements against the declared nodes: seats, or what is wrong.
#pragma once

#include <cstdint>
#include <string>

#include "core/state/state.hpp"

namespace orrery {

/// What a look at a job's seats found.
enum class Seating : std::uint8_t {
  Sound,       ///< All seats exist on the declared nodes, or none are asked for.
  Infeasible,  ///< The declared nodes lack something: it may come with more nodes.
  Wrong,       ///< The specification contradicts itself.
};

/// Resolves the job's placements against the declared nodes into `JobState::seats`, and checks that
/// roles share devices only by declaration and that its virtual clusters could be formed. `why`
/// gets the reasons, one a line.
Seating resolve_seats(const State& state, JobState& job, std::string& why);

}  // namespace orrery
