// The other end: a process that follows the journal and runs one policy.
#pragma once

#include <functional>
#include <memory>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "runtime/planner/child_side.hpp"
#include "runtime/planner/planner_frames.hpp"

namespace orrery::runtime {

using MakePolicy = std::function<Result<std::unique_ptr<Policy>>(const PolicySpec&)>;

/// Answers what comes by `fd` until it is closed. What the policy throws is told, and ends it.
/// Returns the process's exit code. The caller does nothing else; limits of memory are set here.
int serve_plans(int fd, const MakePolicy& make);

}  // namespace orrery::runtime
