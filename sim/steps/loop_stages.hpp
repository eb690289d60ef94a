// The parts of a loop that use the network, as stages of work.
#pragma once

#include <vector>

#include "scenarios/language/spec/network_spec.hpp"
#include "scenarios/language/spec/step_spec.hpp"
#include "sim/fabric/stage.hpp"
#include "sim/steps/gang.hpp"

namespace orrery::sim {

/// All updates of a turn on these nodes, whose workers are `speed` times as fast as the fewest.
/// What they sum over the nodes is spread over the updates.
Stage loop_train_stage(const scenarios::LoopSpec& loop,
                       const scenarios::NetworkSpec& network,
                       const std::vector<NodeDevices>& nodes,
                       double speed);

/// The new weights from the first of `training` to those of `generating` that train nothing: nodes
/// that train have them already.
Stage loop_weights_stage(const scenarios::LoopSpec& loop,
                         const std::vector<NodeId>& training,
                         const std::vector<NodeId>& generating);

}  // namespace orrery::sim
