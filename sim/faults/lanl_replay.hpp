// Recorded failures of one system, replayed on the nodes of a scenario.
#pragma once

#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/traces/lanl_failures.hpp"

namespace orrery::sim {

/// The failures of `replay.system` in the chosen days as nodes that go down, by time. Zero of time
/// is midnight of the first day. Failures of one node that overlap are one; a down time of zero is
/// a minute, the records' unit; records without a node are left out.
///
/// With `scale_nodes` node i of a system of n stands for node i x nodes / n of the cluster, rounded
/// down; without, a node that the cluster lacks is left out.
std::vector<scenarios::Fault> replay_lanl(const scenarios::LanlReplay& replay,
                                          const LanlRecords& records,
                                          std::int64_t nodes);

}  // namespace orrery::sim
