// What membership asks of the placer.
#pragma once

#include <cstdint>
#include <vector>

#include "core/placer/placer.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// The placer in charge.
const Placer& placer_of(const State& state);

/// The request for so many replicas of `demand` for the job.
PlacementRequest placement_of(const State& state,
                              const JobState& job,
                              const Demand& demand,
                              std::int32_t replicas,
                              NodeId avoid = NodeId::none());

/// Where so many replicas could be claimed now, all of them, on no part of `avoid`. Appends to
/// `nodes` or leaves it as it was; claims nothing.
bool find_nodes(Step& step,
                const JobState& job,
                const Demand& demand,
                std::int32_t replicas,
                std::vector<NodeCount>& nodes,
                NodeId avoid = NodeId::none());

/// Claims `demand` for a worker of the job on a node that has room; the placer chooses the devices.
LeaseId claim_on(Step& step, const JobState& job, NodeId node, const Demand& demand);

}  // namespace orrery
