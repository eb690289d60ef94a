// What the site's program that replaces nodes is told of them.
#pragma once

#include <span>
#include <string>

#include "core/record/command.hpp"
#include "core/state/state.hpp"
#include "runtime/controller/control_api.hpp"

namespace orrery::runtime {

/// One JSON object, as runtime/launch/relaunch_runner.hpp describes it. `facts`: by NodeId.
std::string relaunch_text(const RelaunchNodes& order,
                          const State& state,
                          std::span<const NodeFacts> facts);

}  // namespace orrery::runtime
