// What a user reads of a job: its status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// Workers of one role by what they do (DI-orchestrator's taskStatus).
struct RoleStatus {
  std::string name;
  std::int32_t target = 0;  ///< Replicas that the role shall have.
  std::int32_t starting = 0;
  std::int32_t ready = 0;
  std::int32_t draining = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;  ///< Failed or lost, not replaced yet.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("target", self.target);
    v.field("starting", self.starting);
    v.field("ready", self.ready);
    v.field("draining", self.draining);
    v.field("succeeded", self.succeeded);
    v.field("failed", self.failed);
  }
};

/// The latest value of one key, per rank of the current generation.
struct ProfilingStatus {
  std::string key;
  std::vector<ProfilingSample> latest;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("key", self.key);
    v.field("latest", self.latest);
  }
};

/// A worker's failure, as a user sees it.
struct FailureStatus {
  Instant at;
  Reason reason = Reason::WorkerFailed;
  std::string role;
  std::int32_t local_rank = 0;  ///< Index inside the role.
  Rank rank;                    ///< In the job, then.
  std::string node;             ///< Its name; empty where it has none.
  std::int32_t exit_code = 0;   ///< 0: it did not end by itself.
  std::string message;          ///< In words, on one line.
  std::string sentence;         ///< What its agent says; may be empty.
  std::string last_lines;       ///< The end of what it wrote; only of the latest failure.
  Blame blame = Blame::None;    ///< Whose fault it was, as the worker said.
  std::string blamed;           ///< The node's name, or the peer: "trainer 0"; else empty.
  std::string diagnosis;        ///< What the worker said of it; may be empty.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("at", self.at);
    v.field("reason", self.reason);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("rank", self.rank);
    v.field("node", self.node);
    v.field("exit_code", self.exit_code);
    v.field("message", self.message);
    v.field("sentence", self.sentence);
    v.field("last_lines", self.last_lines);
    v.field("blame", self.blame);
    v.field("blamed", self.blamed);
    v.field("diagnosis", self.diagnosis);
  }
};

/// Workers of one role on one node.
struct PlaceStatus {
  std::string role;
  std::string node;  ///< Its name; the number where none was declared.
  NodeId number;
  std::int32_t replicas = 0;  ///< At least 1.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("role", self.role);
    v.field("node", self.node);
    v.field("number", self.number);
    v.field("replicas", self.replicas);
  }
};

/// A job as a user sees it. Derived from the state whenever it is asked for.
struct JobStatus {
  std::string name;
  JobPhase phase = JobPhase::Pending;
  Reason reason = Reason::Submitted;
  std::string message;                  ///< The reason in words.
  std::int32_t replicas = 0;            ///< Workers of the job.
  std::int32_t ready_replicas = 0;      ///< 0 in a final phase.
  std::int32_t target = 0;              ///< Workers that it shall have at least.
  std::vector<PlaceStatus> allocation;  ///< Of all roles, by rank of the first of each; of the
                                        ///< membership to come where there is one.
  std::int32_t devices = 0;
  Generation generation;
  std::uint32_t restarts = 0;
  std::uint32_t reschedules = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t node_losses = 0;
  std::vector<RoleStatus> roles;  ///< Empty in a final phase.
  std::vector<Condition> conditions;
  std::vector<ProfilingStatus> profilings;
  double throughput = 0;                ///< Of the whole job, per second; 0: not known.
  std::vector<FailureStatus> failures;  ///< The latest, oldest first.
  std::string user;                     ///< Who submitted it; may be empty.
  Instant submitted;
  Instant completed = Instant::never();

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("phase", self.phase);
    v.field("reason", self.reason);
    v.field("message", self.message);
    v.field("replicas", self.replicas);
    v.field("ready_replicas", self.ready_replicas);
    v.field("target", self.target);
    v.field("allocation", self.allocation);
    v.field("devices", self.devices);
    v.field("generation", self.generation);
    v.field("restarts", self.restarts);
    v.field("reschedules", self.reschedules);
    v.field("preemptions", self.preemptions);
    v.field("node_losses", self.node_losses);
    v.field("roles", self.roles);
    v.field("conditions", self.conditions);
    v.field("profilings", self.profilings);
    v.field("throughput", self.throughput);
    v.field("failures", self.failures);
    v.field("user", self.user);
    v.field("submitted", self.submitted);
    v.field("completed", self.completed);
  }
};

class QueueStandings;

/// The status of a job that is in state. `queues`: of this state, for callers that ask for many
/// jobs; null: looked up where it is needed.
JobStatus status_of(const State& state,
                    const JobState& job,
                    const QueueStandings* queues = nullptr);

}  // namespace orrery
