// The process that runs the controller's policy: this program once more.
#pragma once

#include <string>
#include <vector>

#include "runtime/planner/serve_plans.hpp"

namespace orrery::cli {

/// The words that start it from a controller of this program.
std::vector<std::string> planner_program();

/// Whether this process was started by them. It is no verb: what it says is for a controller.
bool is_planner(int argc, char** argv);

/// A policy of the registry.
Result<std::unique_ptr<Policy>> policy_of(const runtime::PolicySpec& spec);

}  // namespace orrery::cli
