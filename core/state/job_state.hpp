// Everything the controller knows about one job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/rare_part.hpp"
#include "core/base/units.hpp"
#include "core/cluster/node_count.hpp"
#include "core/cluster/seat.hpp"
#include "core/job/profiling.hpp"
#include "core/job/row.hpp"
#include "core/job/spec.hpp"
#include "core/record/event.hpp"
#include "core/state/job_failover.hpp"
#include "core/state/job_timers.hpp"

namespace orrery {

/// One worker process as the controller sees it. Its rank is its place in `JobState::workers`.
struct Worker {
  RoleIndex role;
  std::int32_t local_rank = 0;  ///< Index inside the role.
  NodeId node;
  LeaseId lease;              ///< None once released.
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  WorkerState state = WorkerState::Claimed;
  std::int32_t exit_code = 0;
  Incarnation incarnation;      ///< Of the start that made it.
  Generation born;              ///< Generation of that start,
  Rank birth_rank;              ///< and its rank then: how late reports name it.
  Sequence ordered;             ///< Record in which its start was ordered last.
  bool recover = false;         ///< In a coming membership: replaces a failed worker.
  std::uint64_t hardware = 0;   ///< Bit i: piece i of the node's custom hardware.
  Share share;                  ///< Of its device or hardware.
  std::int32_t first_port = 0;  ///< Of its lease's ports; 0: it has none.
  Generation environment;  ///< It cannot be told of changes: of the membership that its environment
                           ///< has. 0: it can be told, or nothing is known yet.
  Generation placed;       ///< Since when its rank, the size and the first rank's place are these.
  JobId beside;            ///< The job on whose devices it was put; none: on its own.
  RarePart<Diagnosis> diagnosis;  ///< Failed: whose fault it said that is.

  /// It works by a membership that is over, and cannot be told of another.
  bool is_outdated() const { return environment.value != 0 && environment < placed; }

  bool is_alive() const {
    return state == WorkerState::Starting || state == WorkerState::Ready ||
           state == WorkerState::Draining;
  }

  bool is_gone() const { return state > WorkerState::Draining; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("node", self.node);
    v.field("lease", self.lease);
    v.field("devices", self.devices);
    v.field("state", self.state);
    v.field("exit_code", self.exit_code);
    v.field("incarnation", self.incarnation);
    v.field("born", self.born);
    v.field("birth_rank", self.birth_rank);
    v.field("recover", self.recover);
    v.field_since(2, "ordered", self.ordered);
    v.field_since(3, "hardware", self.hardware);
    v.field_since(3, "share", self.share);
    v.field_since(3, "first_port", self.first_port);
    v.field_since(4, "environment", self.environment);
    v.field_since(4, "placed", self.placed);
    v.field_since(5, "beside", self.beside);
    v.field_since(5, "diagnosis", self.diagnosis);
  }
};

/// A user-visible condition: one per phase that the job has been in.
struct Condition {
  JobPhase phase = JobPhase::Pending;
  bool status = false;  ///< True for the phase that the job is in.
  Reason reason = Reason::Submitted;
  Instant since;  ///< When `status` last changed.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("phase", self.phase);
    v.field("status", self.status);
    v.field("reason", self.reason);
    v.field("since", self.since);
  }
};

/// A worker that failed first in an incident of its job, and what it left for people.
struct WorkerFailure {
  Instant at;
  Reason reason = Reason::WorkerFailed;
  RoleIndex role;
  std::int32_t local_rank = 0;
  Rank rank;  ///< In the job, then.
  NodeId node;
  Incarnation incarnation;
  Rank birth_rank;
  std::int32_t exit_code = 0;  ///< 0: it did not end by itself.
  std::string sentence;        ///< Of its agent; may be empty.
  std::string last_lines;      ///< The end of what it wrote; may be empty.
  Diagnosis diagnosis;         ///< Whose fault it said that is.

  friend bool operator==(const WorkerFailure&, const WorkerFailure&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("at", self.at);
    v.field("reason", self.reason);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("rank", self.rank);
    v.field("node", self.node);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("exit_code", self.exit_code);
    v.field("sentence", self.sentence);
    v.field("last_lines", self.last_lines);
    v.field_since(5, "diagnosis", self.diagnosis);
  }
};

/// Seats of a role at one size, in rank order inside the role.
struct SizedSeats {
  RoleIndex role;
  std::vector<Seat> seats;

  friend bool operator==(const SizedSeats&, const SizedSeats&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("role", self.role);
    v.field("seats", self.seats);
  }
};

/// What a job does once its membership change has drained.
enum class AfterDrain : std::uint8_t {
  Nothing,  ///< No change under way.
  Start,    ///< The next membership starts.
  Wait,     ///< It goes back to Pending.
};

template <>
struct EnumNames<AfterDrain> {
  static constexpr std::array kNames{"nothing", "start", "wait"};
};

/// One live job: the hot row, the workers, and what is under way.
struct JobState {
  JobState();  // All six are compiled once, in the source.
  JobState(const JobState& other);
  JobState(JobState&& other) noexcept;
  JobState& operator=(const JobState& other);
  JobState& operator=(JobState&& other) noexcept;
  ~JobState();

  JobRow row;
  std::shared_ptr<const JobSpec> spec;
  std::uint64_t request = 0;  ///< The client's id of its submission; 0 where none.
  RarePart<std::vector<std::int32_t>>
      targets;                           ///< Per role; 0: none set by a user. Empty: none at all.
  std::vector<Worker> workers;           ///< By rank, of the current generation.
  std::vector<Worker> next;              ///< Membership to come; kept workers name `from`.
  std::vector<std::uint32_t> next_from;  ///< Per entry of `next`: its present rank, or UINT32_MAX.
  std::vector<NodeCount> elastic_nodes;  ///< Elastic replicas per node, ascending.
  std::vector<Condition> conditions;     ///< In order of first appearance.
  RarePart<std::vector<ProfilingSeries>>
      profilings;                           ///< In order of first appearance; at most 64 keys.
  std::uint32_t ready = 0;                  ///< Workers in state Ready.
  std::uint32_t draining = 0;               ///< Workers in state Draining.
  std::uint32_t blocked = 0;                ///< Leases of `next` that are Claimed, not yet Held.
  Incarnation incarnation;                  ///< Of the last start.
  Reason reason = Reason::Submitted;        ///< Why it is in its phase.
  Reason change_reason = Reason::Rescaled;  ///< Why the change under way was begun.
  AfterDrain after_drain = AfterDrain::Nothing;
  bool wants_more = false;     ///< Below its target, waiting for room.
  bool retained = false;       ///< Final, and its last worker is gone.
  bool deleted = false;        ///< To be forgotten as soon as its last worker is gone.
  bool sized_by_user = false;  ///< Preemptible and of a fixed size that its user has changed.
  Instant started_at = Instant::never();  ///< First start of workers.
  Instant finished_at = Instant::never();
  JobTimers timers;  ///< Changed by `State::set_timer` alone.

  RarePart<JobFailover> failover;
  RarePart<std::vector<SizedSeats>>
      seats;                   ///< Of roles with placements, at each size that is named.
  RarePart<std::string> user;  ///< Who submitted it; may be empty.
  RarePart<std::vector<WorkerFailure>>
      failures;  ///< The latest, oldest first; see failure_notes.hpp.
  /// In state: who had its name before it. Derived: neither saved nor in the digest.
  JobId before;
  std::uint32_t name_hash = 0;  ///< In state: of its name, see `NameTable`. Derived, as `before`.

  /// Deleted, and its last worker is gone: the next step drops it.
  bool is_forgotten() const { return deleted && retained; }

  /// What was asked of a sub-master or of the extension is of no interest any more.
  void forget_answers() {
    if (failover->led != LedRecovery::None || !failover->relaunching.empty())
      failover.edit().forget_answers();
  }

  std::size_t role_count() const { return spec->roles.size(); }

  /// How many replicas a role shall have.
  std::int32_t target(RoleIndex role) const {
    const RoleSpec& r = spec->roles[role.index()];
    if (role.index() < targets->size() && (*targets)[role.index()] > 0)
      return (*targets)[role.index()];
    return r.min_replicas;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("row", self.row);
    v.field("spec", self.spec);
    v.field("targets", self.targets);
    v.field("workers", self.workers);
    v.field("next", self.next);
    v.field("next_from", self.next_from);
    v.field("elastic_nodes", self.elastic_nodes);
    v.field("conditions", self.conditions);
    v.field("profilings", self.profilings);
    v.field("after_drain", self.after_drain);
    v.field("ready", self.ready);
    v.field("draining", self.draining);
    v.field("blocked", self.blocked);
    v.field("incarnation", self.incarnation);
    v.field("reason", self.reason);
    v.field("change_reason", self.change_reason);
    v.field("wants_more", self.wants_more);
    v.field("retained", self.retained);
    v.field("started_at", self.started_at);
    v.field("finished_at", self.finished_at);
    OlderTimers older;
    v.field_until(4, "not_before", older.not_before);
    v.field_until(4, "deadline", older.deadline);
    v.field_since(2, "failover", self.failover);
    v.field_since(2, "request", self.request);
    v.field_since(3, "seats", self.seats);
    v.field_since(4, "deleted", self.deleted);
    v.field_since(4, "sized_by_user", self.sized_by_user);
    v.field_since(4, "user", self.user);
    v.field_since(4, "failures", self.failures);
    v.field_since(5, "timers", self.timers);
    if constexpr (!std::is_const_v<Self>) older.put_into(self.timers);
  }
};

/// Whether a policy decides how many replicas a role has.
inline bool is_sized_by_policy(const JobState& job, RoleIndex role) {
  return job.row.preemptible && role == job.row.elastic && !job.sized_by_user;
}

/// The worker that a report of (`generation`, `incarnation`, `rank`) is about: by its present rank,
/// or by the one that it was born with, where the report was under way while the membership
/// changed. Null where the job has no such worker any more.
const Worker* worker_named(const JobState& job,
                           Generation generation,
                           Incarnation incarnation,
                           Rank rank);

}  // namespace orrery
