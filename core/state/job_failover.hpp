// What the controller remembers of a job's failures: the open incident, counts, what is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/record/command.hpp"

namespace orrery {

/// A cause of failure with what it takes along. The lattice is node, job, role, worker: while one
/// is open, reports that it covers change no counter.
struct Incident {
  std::uint32_t number = 0;  ///< From 1 inside the job; 0: none is open.
  IncidentScope scope = IncidentScope::Worker;
  Reason cause = Reason::WorkerFailed;
  bool charged = false;         ///< To the backoff limit.
  RoleIndex role;               ///< Of the root, where it is a worker,
  std::int32_t local_rank = 0;  ///< with its index inside the role.
  NodeId node;                  ///< Where the root was; none where there is no one node.
  Instant since;

  bool is_open() const { return number > 0; }

  friend bool operator==(const Incident&, const Incident&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("number", self.number);
    v.field("scope", self.scope);
    v.field("cause", self.cause);
    v.field("charged", self.charged);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("node", self.node);
    v.field("since", self.since);
  }
};

/// Failures of one replica. Only replicas that have failed have one.
struct ReplicaRecord {
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;                      ///< Where it failed last.
  std::uint32_t failures = 0;       ///< In all, charged ones.
  std::uint32_t node_failures = 0;  ///< On `node`, since the node was last replaced.

  friend bool operator==(const ReplicaRecord&, const ReplicaRecord&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("node", self.node);
    v.field("failures", self.failures);
    v.field("node_failures", self.node_failures);
  }
};

/// What the reset window has cleared of counts that go on growing for people: a budget has used
/// what is beyond it. Always 0 before rules 4.
struct ClearedCounts {
  std::uint32_t job_restarts = 0;
  std::uint32_t nodes_relaunched = 0;
  std::vector<std::uint32_t> role_restarts;  ///< Per role; empty: none.

  friend bool operator==(const ClearedCounts&, const ClearedCounts&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job_restarts", self.job_restarts);
    v.field("nodes_relaunched", self.nodes_relaunched);
    v.field("role_restarts", self.role_restarts);
  }
};

/// Where the recovery of a role by its sub-master stands. What was asked is asked again whenever
/// the sub-master starts anew: it keeps no state, this is its state.
enum class LedRecovery : std::uint8_t {
  None,
  Asked,       ///< Recover was sent; AskRestart is awaited.
  Restarting,  ///< The role's workers start anew; their readiness is awaited.
  Restarted,   ///< Restarted was sent; Done is awaited.
};

template <>
struct EnumNames<LedRecovery> {
  static constexpr std::array kNames{"none", "asked", "restarting", "restarted"};
};

/// Which limit ended a job.
enum class Limit : std::uint8_t {
  None,
  Backoff,
  WorkerFailures,
  RoleRestarts,
  JobRestarts,
  NodeLosses,
  Preemptions,
  NodesRelaunched,
};

template <>
struct EnumNames<Limit> {
  static constexpr std::array kNames{"none",
                                     "backoff_limit",
                                     "worker_failures_max",
                                     "role_restarts_max",
                                     "job_restarts_max",
                                     "node_losses_max",
                                     "preemptions_max",
                                     "nodes_relaunched_max"};
};

/// Failover state of one job.
struct JobFailover {
  std::uint32_t incidents = 0;  ///< Opened so far.
  Incident open;
  Instant last_incident;               ///< When one was last opened; with the reset window.
  std::uint32_t restarts_used = 0;     ///< Of the backoff limit, since the last reset.
  std::uint32_t node_losses_used = 0;  ///< Likewise.
  std::uint32_t preemptions_used = 0;  ///< Likewise.
  Instant last_preemption;             ///< When one was last charged; with the reset window.
  std::uint32_t job_restarts = 0;      ///< In all, as the next two.
  std::uint32_t nodes_relaunched = 0;
  std::vector<std::uint32_t> role_restarts;  ///< Per role; empty: none yet.
  ClearedCounts cleared;
  std::vector<ReplicaRecord> replicas;  ///< In order of first failure.
  LedRecovery led = LedRecovery::None;
  RoleIndex led_role;  ///< The role that is led.
  Incarnation told;    ///< Start of the sub-master that was told the present stage; 0: none.
  std::vector<NodeId> relaunching;  ///< Nodes asked to be replaced, ascending; empty: none.
  bool relaunching_group = false;   ///< The second try, with the whole group.
  /// Rules before 3, strict recovery: when all tries of the start under way end. Later ones have
  /// `TimerKind::Start`.
  Instant start_by = Instant::never();
  Limit limit = Limit::None;      ///< What ended the job,
  std::uint32_t limit_count = 0;  ///< with the count reached
  std::int32_t limit_value = 0;   ///< and the limit itself.
  RoleIndex refused_role;         ///< CannotStart: whose worker could not be started,
  std::int32_t refused_rank = 0;  ///< its index in the role,
  NodeId refused_by;              ///< on which node,
  std::string refused_why;        ///< and why, in the node's words.
  RoleIndex limit_role;           ///< The worker whose failure passed it; none: no worker.
  std::int32_t limit_rank = 0;    ///< Inside that role.
  NodeId limit_node;              ///< Where it ran, or the node that was lost.

  /// What was asked of a sub-master or of the extension is of no interest any more.
  void forget_answers() {
    led = LedRecovery::None;
    relaunching.clear();
  }

  friend bool operator==(const JobFailover&, const JobFailover&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("incidents", self.incidents);
    v.field("open", self.open);
    v.field("last_incident", self.last_incident);
    v.field("restarts_used", self.restarts_used);
    v.field("node_losses_used", self.node_losses_used);
    v.field("preemptions_used", self.preemptions_used);
    v.field("job_restarts", self.job_restarts);
    v.field("nodes_relaunched", self.nodes_relaunched);
    v.field("role_restarts", self.role_restarts);
    v.field("replicas", self.replicas);
    v.field("led", self.led);
    v.field("led_role", self.led_role);
    v.field("told", self.told);
    v.field("relaunching", self.relaunching);
    v.field("relaunching_group", self.relaunching_group);
    v.field("start_by", self.start_by);
    v.field("limit", self.limit);
    v.field("limit_count", self.limit_count);
    v.field("limit_value", self.limit_value);
    v.field_since(4, "refused_role", self.refused_role);
    v.field_since(4, "refused_rank", self.refused_rank);
    v.field_since(4, "refused_by", self.refused_by);
    v.field_since(4, "refused_why", self.refused_why);
    v.field_since(4, "limit_role", self.limit_role);
    v.field_since(4, "limit_rank", self.limit_rank);
    v.field_since(4, "limit_node", self.limit_node);
    v.field_since(5, "last_preemption", self.last_preemption);
    v.field_since(5, "cleared", self.cleared);
  }
};

}  // namespace orrery
