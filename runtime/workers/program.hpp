// What the builds of the sample worker share: everything but their parts.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/workers/training.hpp"

namespace orrery::worker {

/// A collective that a build of the worker may have.
struct Backend {
  std::string_view name;
  /// Error: it cannot be used here, such as for want of a library.
  std::function<Result<std::unique_ptr<Collective>>(const Options&, Compute&)> make;
};

/// One build of the worker.
struct Program {
  std::string_view name;
  /// Error: there is no such device here.
  std::function<Result<std::unique_ptr<Compute>>(const Options&, const Start&)> make_compute;
  std::vector<Backend> backends;  ///< As `auto` tries them.
  Resolve resolve;
};

/// The backend that was asked for, else the first that can be had; why others cannot is logged.
/// Error: it is in no build like this one, or cannot be used here.
Result<std::unique_ptr<Collective>> make_collective(const std::vector<Backend>& backends,
                                                    const Options& options,
                                                    Compute& compute,
                                                    std::ostream& log);

/// Runs a worker from its command line and environment; returns its exit code.
int run_program(const Program& program, std::span<const char* const> arguments);

/// Hosts by numeric address and `localhost` only: what a static program can do.
Result<std::string> resolve_numeric(const std::string& host);

/// The ring as a backend; every build has it.
Backend ring_backend();

}  // namespace orrery::worker
