// From the core's order to start a worker to its shim.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "runtime/agent/environments.hpp"
#include "runtime/agent/known_jobs.hpp"
#include "runtime/agent/node_state.hpp"
#include "runtime/agent/worker_table.hpp"
#include "runtime/agent/worker_user.hpp"
#include "runtime/config/config.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// A worker that could not be started, and why.
struct FailedStart {
  WorkerName worker;
  std::string reason;
  std::int32_t busy_port = 0;  ///< One of its own that is in use on this host; 0: none.
  std::int32_t exit_code = 0;  ///< kCannotRun: no other try can help. 0: one may.
};

/// Makes folders, environments and command lines of workers and starts their shims. Used by one
/// thread; what it is given outlives it.
class WorkerStarts {
 public:
  WorkerStarts(const AgentConfig& config,
               const NodeState& state,
               const Inventory& inventory,
               const KnownJobs& jobs,
               WorkerTable& table,
               std::string shim_program,
               std::optional<WorkerUser> user);

  /// Called with a worker's token right before its shim is started.
  void on_token(std::function<void(const WorkerToken&)> told) { tell_token_ = std::move(told); }

  /// The HTTP address of the controller that leads, for workers that start from now on and, in a
  /// file, for those that run. Empty: it has none.
  void set_server_url(const std::string& url);

  /// Starts a worker. Nothing: it has a shim now, or waits: for its environment, or for others that
  /// start, so that the lease is renewed in between however many there are. Otherwise why not.
  std::optional<FailedStart> begin(const SpawnWorker& order);

  /// Starts those that wait no longer. Returns those that cannot be started.
  std::vector<FailedStart> go_on(const std::vector<int>& readable, Instant now);

  /// A worker that still waits has a new place in its job.
  void retell(const TellMembership& order);

  /// Whether a worker could start at once and was only kept back for the next turn.
  bool is_held_up() const { return held_up_; }

  /// Gives up a start that still waits. False where there is none.
  bool drop(const WorkerName& worker);

  const Environments& environments() const { return environments_; }

  /// Sentences about workers that were started, but not quite as their job says.
  std::vector<FailedStart> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  bool may_start();
  void tell_server_url(const WorkerName& worker) const;
  std::optional<FailedStart> start(const SpawnWorker& order, const JobSpec& job);
  FailedStart failed(const SpawnWorker& order,
                     const std::string& reason,
                     std::int32_t exit_code = 0);
  FailedStart failed(const SpawnWorker& order, const Errors& errors);
  Result<WorkerLaunch> launch_of(const SpawnWorker& order,
                                 const JobSpec& job,
                                 const std::string& token);
  Status add_environment(const SpawnWorker& order,
                         const JobSpec& job,
                         const std::string& token,
                         WorkerLaunch& launch);
  Status add_call_place(const SpawnWorker& order, const WorkerLaunch& launch, Surroundings& around);
  Status add_volumes(const SpawnWorker& order, const RoleSpec& role, WorkerLaunch& launch);
  void add_command(const SpawnWorker& order, const RoleSpec& role, WorkerLaunch& launch);

  const AgentConfig& config_;
  const NodeState& state_;
  const Inventory& inventory_;
  const KnownJobs& jobs_;
  WorkerTable& table_;
  std::optional<WorkerUser> user_;
  std::string cgroup_base_;
  Environments environments_;
  std::string server_url_;
  std::map<WorkerName, SpawnWorker> waiting_;
  Instant turn_ends_;     ///< No worker starts in this turn after that.
  std::size_t room_ = 1;  ///< How many more may be on their way to being ready.
  bool held_up_ = false;
  std::vector<FailedStart> warnings_;
  std::function<void(const WorkerToken&)> tell_token_;
};

/// 32 hexadecimal digits that cannot be guessed.
std::string random_token();

}  // namespace orrery::runtime
