// machine_states.csv: how many devices compute, over time, in Batsim's columns.
#pragma once

#include <iosfwd>

#include "sim/reports/timeline.hpp"

namespace orrery::sim {

/// Writes a header and one row for each instant at which a number changed:
/// `time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing`. Time is in seconds;
/// nothing sleeps or switches, so those columns are 0. Devices of nodes that may not be used are in
/// no column. The timeline is closed and has kept `states_max` points or fewer; where it had to
/// thin them, a row has the mean of a stretch of time.
void write_machine_states(std::ostream& out, const Timeline& timeline);

}  // namespace orrery::sim
