// The part of the storm's checker that damages a copy of what is stored: a program that starts
// refuses a journal or a snapshot that is not whole, and says where; one that leads changes nothing
// for what names what is not there.
#pragma once

#include <string>
#include <vector>

#include "core/driver/state_store.hpp"
#include "core/state/state.hpp"

namespace orrery::sim {

/// What is taken of damaged copies of the journal's last records that should be refused, and the
/// other way round. `store` is read and nothing else.
std::vector<std::string> misread_journal(StateStore& store);

/// The same of snapshots of a state, and what such a snapshot is not read as.
std::vector<std::string> misread_snapshots(const State& state);

/// What a controller in this state makes of declarations that are none, of requests and reports
/// about jobs and nodes that there are not, and of an epoch that is over: each is ignored once, by
/// its name, and nothing else changes. A job on a device that there is not waits for it.
std::vector<std::string> misled(const State& state);

}  // namespace orrery::sim
