// From the core's order to start a worker to its shim.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "runtime/agent/known_jobs.hpp"
#include "runtime/agent/node_state.hpp"
#include "runtime/agent/worker_table.hpp"
#include "runtime/config/config.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// A worker that could not be started, and why.
struct FailedStart {
  WorkerName worker;
  std::string reason;
};

/// Makes folders, environments and command lines of workers and starts their shims. Used by one
/// thread; what it is given outlives it.
class WorkerStarts {
 public:
  WorkerStarts(const AgentConfig& config,
               const NodeState& state,
               const Inventory& inventory,
               const KnownJobs& jobs,
               WorkerTable& table);

  /// The controller's HTTP address, for workers that start from now on.
  void set_server_url(const std::string& url) { server_url_ = url; }

  /// Starts a worker. Nothing: it has a shim now. Otherwise why not.
  std::optional<FailedStart> begin(const SpawnWorker& order);

  /// Sentences about workers that were started, but not quite as their job says.
  std::vector<FailedStart> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  Result<WorkerLaunch> launch_of(const SpawnWorker& order, const JobSpec& job);

  const AgentConfig& config_;
  const NodeState& state_;
  const Inventory& inventory_;
  const KnownJobs& jobs_;
  WorkerTable& table_;
  std::string cgroup_base_;
  std::string server_url_;
  std::vector<FailedStart> warnings_;
};

/// 32 hexadecimal digits that nobody can guess.
std::string random_token();

}  // namespace orrery::runtime
