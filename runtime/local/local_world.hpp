// The first real world: one node, replicas as processes of this machine, the real clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/agent/liveness.hpp"
#include "core/driver/world.hpp"
#include "core/job/spec.hpp"
#include "runtime/local/event_queue.hpp"
#include "runtime/local/memberships.hpp"
#include "runtime/local/process_table.hpp"

namespace orrery::runtime {

/// A submission at a time after the world's start.
struct LocalSubmission {
  Instant at;
  std::shared_ptr<const JobSpec> spec;
};

/// What a user asks of a job at a time: to scale it, or to stop it.
struct LocalRequest {
  Instant at;
  std::string job;  ///< Full name; asked for once the job has been accepted.
  bool stop = false;
  RoleIndex role;  ///< None: every role.
  ScaleMode mode = ScaleMode::Set;
  std::int32_t replicas = 0;
};

struct LocalOptions {
  Settings settings;  ///< For leases; the controller's.
  Epoch epoch{1};     ///< Of the controller that this world serves.
  std::vector<LocalSubmission> submissions;
  std::vector<LocalRequest> requests;
  std::string log_folder;  ///< Takes the workers' output; empty: it is dropped.
};

/// What was measured of a local world.
struct LocalCounters {
  std::uint64_t renewals = 0;
  Duration max_renewal_gap;  ///< Longest time between two renewals of the node's lease.
  std::uint64_t completions = 0;
  Duration max_completion_delay;  ///< Longest time from a worker's end to the driver's taking it.
};

/// Runs the orders of a controller on node 0 as child processes.
///
/// One thread beside the driver's keeps the agent and the leader's session: it renews the lease,
/// starts and watches processes, and carries the schedule out. Both threads meet at the event queue
/// and the list of orders; so neither a slow policy nor a busy driver delays a lease.
///
/// A worker is ready once its program runs. Its end is its exit. Nothing it does goes through a
/// shell unless its command names one. Destruction kills every worker.
class LocalWorld final : public World {
 public:
  explicit LocalWorld(LocalOptions options);
  LocalWorld(const LocalWorld&) = delete;
  LocalWorld& operator=(const LocalWorld&) = delete;
  ~LocalWorld() override;

  Instant now() const override { return clock_.now(); }

  void issue(const Command& command) override;

  bool wait_events(Instant deadline, std::vector<Event>& events) override {
    return queue_.wait(deadline, events);
  }

  /// Makes a `wait_events` that is under way return. Any thread; for a planner that has finished.
  void wake() { queue_.wake(); }

  LocalCounters counters() const;

  /// Why workers could not be started, or not as their job says, one sentence each; complete once
  /// the world has ended.
  std::vector<std::string> warnings() const;

 private:
  void live();
  void take_orders();
  void obey(const Command& command);
  void answered(const AnswerRequest& answer);
  void carry_schedule_out();
  bool is_coming(const std::string& job) const;
  void take_ends();
  void agent_step(const AgentEvent& event);
  void carry_out();
  void run_actions();
  void spawn(const SpawnWorker& order, std::vector<AgentEvent>& answers);
  std::optional<AgentEvent> hear(const Heartbeat& beat);
  void journal(const std::vector<EventBody>& edges);
  void look_for_the_end();
  void wait_for_work();
  Instant next_deadline() const;
  void warn(std::string sentence);

  const LocalOptions options_;
  RealClock clock_;
  EventQueue queue_;

  // Shared by both threads, under the mutex.
  mutable std::mutex mutex_;
  std::vector<Command> orders_;
  LocalCounters counters_;
  std::vector<std::string> warnings_;
  bool closing_ = false;

  // The world thread's own.
  int knocker_ = -1;  ///< An event descriptor: orders are waiting, or the world closes.
  ProcessTable processes_;
  Agent agent_;
  Memberships memberships_;
  Liveness liveness_;
  AgentOutput output_;
  std::size_t next_submission_ = 0;  ///< Also the request id of the last submission.
  std::vector<LocalRequest> requests_;
  std::map<std::uint64_t, std::shared_ptr<const JobSpec>> unanswered_;  ///< By request id.
  std::map<JobId, std::shared_ptr<const JobSpec>> jobs_;
  std::map<std::string, JobId> names_;
  std::optional<Instant> last_renewal_;
  std::thread thread_;
};

}  // namespace orrery::runtime
