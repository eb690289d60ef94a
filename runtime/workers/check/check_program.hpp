// orrery-check: checks a worker's device, and its group, right before the worker's own program
// starts in its place.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/workers/program.hpp"

namespace orrery::worker {

/// One build of the check.
struct CheckProgram {
  std::string_view name;
  std::int32_t size = 256;  ///< Rows and columns of its matrices where nothing else is asked for.
  /// Error: there is no such device here.
  std::function<Result<std::unique_ptr<Compute>>(const Options&, const Start&)> make_compute;
  std::vector<Backend> backends;  ///< As `auto` tries them.
  Resolve resolve;
};

/// Checks what the environment says of this worker, and replaces this process by the command behind
/// `--` where it passed. Returns the exit code otherwise: 1 where the check failed, 127 where the
/// command cannot be run, 2 for bad input, 0 where there is no command or help was asked for.
int run_check(const CheckProgram& program, std::span<const char* const> arguments);

}  // namespace orrery::worker
