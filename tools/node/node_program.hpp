// The program orrery-node, but for its main function.
#pragma once

#include "runtime/planner/serve_plans.hpp"

namespace orrery::cli {

/// Runs a verb, or serves plans or forecasts with policies that `make` makes. Returns the exit
/// code.
int run_node_program(int argc, char** argv, const runtime::MakePolicy& make);

}  // namespace orrery::cli
