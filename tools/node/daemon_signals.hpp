// How a daemon waits for its end, and tells its supervisor that it has begun.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// SIGINT and SIGTERM wait, in this thread and all that it starts from now on, for
/// `wait_for_stop`. SIGPIPE is let be. Called before any thread is started.
void hold_signals();

/// Blocks until SIGINT or SIGTERM has come; a second one then ends the process at once.
void wait_for_stop();

/// Writes `line` to the descriptor that `--ready-fd` names, if any, and closes it. Errors: no such
/// descriptor.
Status tell_ready(const Arguments& arguments, const std::string& line);

/// With `--parent PID`: the end of that process, which has started this one, ends this one at once,
/// however it comes. Errors: it is no number. Ends the process where the parent has gone already.
Status bind_to_parent(const Arguments& arguments);

}  // namespace orrery::cli
