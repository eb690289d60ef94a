// What starts a daemon has its say: Slurm about an agent's node, systemd about both.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"
#include "runtime/launch/slurm.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// An agent's settings with what its launcher says in their place.
struct LaunchedAgent {
  runtime::AgentConfig config;
  std::optional<runtime::SlurmNode> slurm;
};

/// Under Slurm the state folder is there afterwards, and only this user can write to it. Errors:
/// launcher slurm outside an allocation, or with variables that are unsound; such a folder cannot
/// be made.
Result<LaunchedAgent> launched(const runtime::AgentConfig& config);

/// How long a node remains after SIGUSR1. `agent` outlives the function that is returned.
std::function<Duration()> notice_of(const LaunchedAgent& agent);

/// The units of `--print-systemd-unit`: this program, with the same settings file. Errors: settings
/// given by --set, which a unit has no place for; a file that is not there.
Result<std::string> unit_of(const Arguments& arguments, const runtime::AgentConfig& config);
Result<std::string> unit_of(const Arguments& arguments, const runtime::ControllerConfig& config);

}  // namespace orrery::cli
