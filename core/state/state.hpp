// Everything the controller knows: the fold of the journal.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/paged_array.hpp"
#include "core/base/plain_array.hpp"
#include "core/base/units.hpp"
#include "core/cluster/demand_mix.hpp"
#include "core/cluster/ledger.hpp"
#include "core/job/wait_queue.hpp"
#include "core/record/event.hpp"
#include "core/state/job_state.hpp"
#include "core/state/name_table.hpp"
#include "core/state/past_requests.hpp"
#include "core/state/sorted_ids.hpp"

namespace orrery {

/// One quota with what its scope holds now.
struct QuotaUse {
  Quota quota;
  std::int32_t held = 0;  ///< Devices.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("quota", self.quota);
    v.field("held", self.held);
  }
};

/// What is known of a node beside its ledger.
struct NodeState {
  std::string group;  ///< Name of its node group.
  bool silent = false;
  Epoch heard;               ///< Last epoch in which it gave its complete list.
  bool excluded = false;     ///< By a user, as a lemon, or because its relaunch failed.
  bool spare = false;        ///< Held back until another node of its group is not usable.
  bool lost_device = false;  ///< Until it returns from a repair, or from its check.
  Instant excluded_until = Instant::never();
  Instant leaves_at = Instant::never();  ///< It has announced that it goes away then.
  std::vector<Instant> incidents;        ///< The latest, oldest first; for lemon detection.
  NodeId stands_in_for;                  ///< A spare in use: the node whose place it has.
  std::int32_t rack = -1;                ///< Dense over the cluster; -1: none declared.
  std::int32_t nvlink_domain = -1;       ///< As `rack`.
  std::string name;                      ///< By which its agent claims it; empty: none declared.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("group", self.group);
    v.field("silent", self.silent);
    v.field("heard", self.heard);
    v.field_since(2, "excluded", self.excluded);
    v.field_since(2, "spare", self.spare);
    v.field_since(2, "lost_device", self.lost_device);
    v.field_since(2, "excluded_until", self.excluded_until);
    v.field_since(2, "leaves_at", self.leaves_at);
    v.field_since(2, "incidents", self.incidents);
    v.field_since(2, "stands_in_for", self.stands_in_for);
    v.field_since(3, "rack", self.rack);
    v.field_since(3, "nvlink_domain", self.nvlink_domain);
    v.field_since(4, "name", self.name);
  }
};

/// Totals since the first record.
struct Totals {
  std::uint64_t submitted = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t plans = 0;
  std::uint64_t grants = 0;
  std::uint64_t ignored = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("submitted", self.submitted);
    v.field("succeeded", self.succeeded);
    v.field("failed", self.failed);
    v.field("plans", self.plans);
    v.field("grants", self.grants);
    v.field("ignored", self.ignored);
  }
};

/// Which plans are due; asked for once per instant by the driver. Soft: not in snapshot or digest.
struct PlansDue {
  std::deque<JobId> submissions;  ///< `allocate` for each, in order.
  bool completion = false;        ///< `optimize`.
  bool capacity = false;
  bool period = false;
  bool again = false;         ///< The last plan was lost.
  bool ports_wanted = false;  ///< Something did not fit for want of ports since the last plan.
  bool ports_given = false;   ///< Workers gave ports back during this step.

  bool any() const { return !submissions.empty() || completion || capacity || period || again; }
};

/// The plans that were lost since the last one that was proposed. Soft, as PlansDue: a new leader
/// has a new planner.
struct LostPlans {
  std::uint32_t count = 0;  ///< 0: the last plan that was asked for came.
  PlanLoss loss = PlanLoss::Late;
  std::string detail;  ///< Of the last one.
};

/// What a policy of several candidates told last. Soft, as PlansDue: a new leader has a new policy,
/// which tells with which it begins.
struct ChosenPolicy {
  PlanChoice choice;  ///< Empty: the policy has no candidates.
  Instant since;
};

/// Capacity to try placements on. No part of the state: a copy of it begins without.
class ScratchTrial {
 public:
  ScratchTrial() = default;

  ScratchTrial(const ScratchTrial&) {}

  ScratchTrial& operator=(const ScratchTrial&) {
    trial_ = CapacityTrial{};
    return *this;
  }

  /// As it is, to be synchronised by what tries on it.
  CapacityTrial& any() { return trial_; }

  /// For a base that went back to an earlier version.
  void forget() { trial_.forget(); }

  /// Anything, for what tries on the ledger itself: a copy needs no new memory there.
  Ledger& ledger() { return ledger_; }

 private:
  CapacityTrial trial_;
  Ledger ledger_;
};

/// The state. Copyable: a planner on another thread works on a copy.
class State {
 public:
  State();  // All six are compiled once, in the source.
  State(const State& other);
  State(State&& other) noexcept;
  State& operator=(const State& other);
  State& operator=(State&& other) noexcept;
  ~State();

  Epoch epoch;
  Settings settings;
  Instant now;
  Sequence sequence;  ///< Last record that was applied.
  std::vector<std::string> models;
  std::vector<NodeState> nodes;
  std::vector<NodeGroup> declared;  ///< Node groups, in the order of the nodes.
  std::vector<QuotaUse> quotas;
  Ledger ledger;
  Totals totals;
  PlansDue due;
  LostPlans lost_plans;
  ChosenPolicy chosen;
  Instant last_cycle;  ///< Cycles of the policy up to here were asked for, or passed over.

  // --- jobs ---

  /// Adds a job with the next id; its row's id and spec are set.
  JobState& add_job(std::shared_ptr<const JobSpec> spec);

  /// A job that is in state, finished or not; null where unknown or retired.
  JobState* find(JobId id);
  const JobState* find(JobId id) const;

  /// A job that must be in state.
  JobState& job(JobId id) { return jobs_[slot_of_[id.index() - first_id_]]; }

  const JobState& job(JobId id) const { return jobs_[slot_of_[id.index() - first_id_]]; }

  /// A step will look at the job: its memory is fetched meanwhile.
  void expect(JobId id) const;

  /// A job of this name is submitted soon: its place among the names is fetched meanwhile.
  void expect_name(std::string_view name) const { names_.expect(NameTable::hash_of(name)); }

  /// The same as `expect` some time later, for what the job has in memory of its own.
  void expect_parts(JobId id) const;

  /// The step begins: the same for the leases of the job's workers, the first few.
  void expect_leases(JobId id) const;

  /// The youngest job in state of this full name, or none; `JobState::before` leads to older ones.
  JobId named(std::string_view name) const;

  /// The job that this request to submit `name` made, in state or retired a while ago; else none.
  JobId submitted_by(std::uint64_t request, std::string_view name) const;

  /// Id that the next accepted submission gets.
  JobId next_job() const { return JobId{first_id_ + static_cast<std::uint32_t>(slot_of_.size())}; }

  /// Leaves `count` ids out: the next accepted submission gets a later one.
  void skip_jobs(std::uint32_t count) { slot_of_.resize(slot_of_.size() + count, kNoSlot); }

  /// Jobs in state, finished ones included.
  std::size_t job_count() const { return jobs_.size() - free_slots_.size(); }

  /// Jobs in state that are not final.
  std::size_t live_count() const { return live_; }

  /// Calls `visit(JobState&)` for every job in state, by id.
  template <class Visit>
  void for_each_job(Visit&& visit) {
    for (std::size_t i = 0; i < slot_of_.size(); ++i)
      if (slot_of_[i] != kNoSlot) visit(jobs_[slot_of_[i]]);
  }

  template <class Visit>
  void for_each_job(Visit&& visit) const {
    for (std::size_t i = 0; i < slot_of_.size(); ++i)
      if (slot_of_[i] != kNoSlot) visit(jobs_[slot_of_[i]]);
  }

  /// The same in no order that means anything: costs what there is, and not the ids in between.
  template <class Visit>
  void for_each_job_anyhow(Visit&& visit) const {
    for (const JobState& job : jobs_)
      if (!job.row.id.is_none()) visit(job);
  }

  /// A job became final.
  void note_final(const JobState& job);

  /// The elastic role's demand of each live job that was sound when it was submitted.
  const DemandMix& demand_mix() const { return mix_; }

  /// The job's row is filled: its demand is part of the mix until it is final.
  void count_demand(const JobState& job) { mix_.add(job.row.demand); }

  ScratchTrial scratch;

  /// All workers of a final job are gone: it is retained for a while, then retired. One that a user
  /// has deleted goes at once; called again for one that is deleted while it is retained.
  void retain(const JobState& job);

  /// Forgets retained jobs beyond the settings' time and number. Invalidates references to them, so
  /// it runs between steps only.
  void retire_old();

  /// When the next finished job can be forgotten, which comes with an event: at the earliest `rest`
  /// after the last one. Never: there is none.
  Instant next_retirement(Duration rest) const;

  // --- sets that policies read ---

  WaitQueue waiting;

  const std::vector<JobId>& holding() const { return holding_.list(); }

  /// How many they are; cheaper than the list.
  std::size_t holding_count() const { return holding_count_; }

  /// Puts a job into the wait queue, or takes it out, to match its row.
  void enqueue(JobState& job);
  void dequeue(JobState& job);

  /// Sets what a job holds; keeps `holding`, quota use and attained service right.
  void set_held(JobState& job, bool holds, std::int32_t devices);

  /// Whether quotas let the job hold `devices` in all.
  bool quota_allows(const JobState& job, std::int32_t devices) const;

  /// Of those in `holding`, how many a policy may resize or take back.
  std::int32_t preemptible_holding = 0;

  /// Jobs that want more replicas than they hold and no policy sizes.
  std::vector<JobId> wants_more;

  /// Jobs touched since the last `touched.clear()`; soft, not part of the digest.
  std::vector<JobId> touched;

  /// Anything may have changed since the last look at `touched`: a job has got another priority.
  bool touched_all = false;

  void touch(JobId id) {
    if (touched.empty() || touched.back() != id) touched.push_back(id);
  }

  // --- timers ---

  /// Sets the job's timer of this kind, and asks for a TimeReached then; never: clears it. By rules
  /// before 3 all kinds but Backoff are one timer, and Backoff asks for nothing.
  void set_timer(JobState& job, TimerKind kind, Instant at);

  /// Clears one; by rules before 3, where it may be the same as another, does nothing.
  void clear_timer(JobState& job, TimerKind kind);

  /// The rules rose to 3: what was only noted asks for a TimeReached as well.
  void arm_timers(JobState& job);

  /// A timer that is due.
  struct DueTimer {
    JobId job;
    TimerKind kind = TimerKind::Sole;
    Instant at = Instant::never();
  };

  /// The earliest timer of a job or a node; never where there is none.
  Instant next_timer();

  /// When the first exclusion of a node ends; never where none does.
  Instant node_timer() const { return node_timer_; }

  /// After the end of an exclusion has changed. A look at all nodes.
  void rebuild_node_timer();

  /// Some node was declared as a spare; else none is looked for among all nodes. Derived:
  /// neither saved nor in the digest.
  bool has_spares = false;
  std::vector<NodeId> stand_ins;  ///< Nodes that stand in for one, by id. Derived.

  /// Takes and clears a timer that is due at or before `now`, the earliest first; of none else.
  DueTimer take_due_timer();

  /// The first multiple of the plan period after `last_cycle`, if there are live jobs; else never.
  Instant next_cycle() const;

  // --- the rest ---

  DeviceModelId model_named(std::string_view name) const;
  DeviceModelId intern_model(const std::string& name);
  Demand demand_of(const Bundle& bundle);

  /// The whole state in bytes: snapshot and digest.
  void save(ByteWriter& out) const;
  bool load(ByteReader& in, std::uint16_t version);
  Digest digest() const;

 private:
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  struct Finished {
    JobId job;
    Instant at;            ///< Its `finished_at`, for a look without the job.
    bool deleted = false;  ///< These stand in front.
  };

  struct Timer {
    Instant at;
    JobId job;
  };

  template <class Self, class Visitor>
  static void plain_fields(Self& self, Visitor& v);
  bool timer_is_current(const Timer& timer) const;
  Instant next_job_timer();
  void queue_timer(const JobState& job);
  void rebuild();
  void drop_retired_ids();
  void expect_retirement() const;
  JobId named(std::uint32_t hash, std::string_view name) const;
  void take_name(JobState& job);
  void give_name_up(const JobState& gone);

  PagedArray<JobState> jobs_;  ///< Slots; reused.
  std::vector<std::uint32_t> free_slots_;
  PlainArray<std::uint32_t> slot_of_;  ///< By id - first_id_.
  std::uint32_t first_id_ = 0;         ///< All ids below are retired.
  std::size_t retired_prefix_ = 0;  ///< Entries of `slot_of_` known to be retired, from its begin.
  std::size_t live_ = 0;
  DemandMix mix_;                  ///< Derived.
  std::deque<Finished> finished_;  ///< Retained, in the order in which their last worker went.
  PastRequests past_requests_;     ///< Of retired jobs.
  NameTable names_;
  SortedIds holding_;
  std::size_t holding_count_ = 0;
  std::vector<Timer> timers_;  ///< Binary heap, earliest on top; stale ones skipped.
  Instant node_timer_ = Instant::never();
};

/// From then on a node that announced that it goes away, and is heard all the same, stays; never
/// where it did not or is silent. It says itself that it is back only where its leader's clock is
/// past the time that it announced, and that clock may have been set back.
Instant stays_after(const State& state, const NodeState& node);

}  // namespace orrery
