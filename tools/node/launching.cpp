#include "tools/node/launching.hpp"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/launch/systemd_unit.hpp"

namespace orrery::cli {
namespace {

std::string host_of_machine() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

Instant wall_clock() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

/// Makes the state folder, which may lie among those of other users, or takes one of ours.
Status claim_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  if (mkdir(path.c_str(), 0711) == 0) return Done{};
  const int reason = errno;

  struct stat status {};

  if (reason == EEXIST && lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
      status.st_uid == geteuid() && (status.st_mode & 0022U) == 0)
    return Done{};
  return Error{ErrorCode::InvalidInput,
               {},
               0,
               "state",
               reason == EEXIST
                   ? path +
                         " is there, and others can write to it, a folder of this user alone is "
                         "needed; remove it, or set state"
                   : path + " cannot be made (" + std::strerror(reason) +
                         "), a folder on a local disk is needed; set state or TMPDIR"};
}

Result<runtime::UnitSpec> unit_spec(const Arguments& arguments) {
  if (arguments.has("--set") || arguments.has("--launcher"))
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "--print-systemd-unit",
                 "stands beside --set or --launcher, but a unit has a settings file alone; write "
                 "the values into it"};
  std::error_code failure;
  runtime::UnitSpec spec;
  spec.program = std::filesystem::read_symlink("/proc/self/exe", failure).string();
  if (const auto file = arguments.value("--config"))
    spec.config = std::filesystem::canonical(*file, failure).string();
  if (failure)
    return Error{ErrorCode::NotFound,
                 arguments.value("--config").value_or(""),
                 0,
                 "--print-systemd-unit",
                 "finds no such file (" + failure.message() + "); check the path"};
  return spec;
}

}  // namespace

Result<LaunchedAgent> launched(const runtime::AgentConfig& config) {
  if (config.launcher != "slurm") return LaunchedAgent{config, std::nullopt};
  auto node = runtime::slurm_node(config, runtime::own_variables(), host_of_machine());
  if (!node) return node.errors();
  if (const Status claimed = claim_folder(node->config.state); !claimed) return claimed.errors();
  return LaunchedAgent{node->config, *node};
}

std::function<Duration()> notice_of(const LaunchedAgent& agent) {
  return [&agent] {
    if (!agent.slurm) return agent.config.preemption_notice;
    return runtime::slurm_remaining(*agent.slurm, runtime::SlurmSignal::Notice, wall_clock());
  };
}

Result<std::string> unit_of(const Arguments& arguments, const runtime::AgentConfig& config) {
  const auto spec = unit_spec(arguments);
  if (!spec) return spec.errors();
  return runtime::agent_unit(*spec, config);
}

Result<std::string> unit_of(const Arguments& arguments, const runtime::ControllerConfig& config) {
  const auto spec = unit_spec(arguments);
  if (!spec) return spec.errors();
  return runtime::controller_unit(*spec, config);
}

}  // namespace orrery::cli
