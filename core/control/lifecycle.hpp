// Transitions of jobs: phases, memberships, failures, endings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/control/state.hpp"
#include "core/record/command.hpp"

namespace orrery {

/// What one step works on.
struct Step {
  State& state;
  Commands& out;
  Instant at;
  Instant occurred_at;
  std::vector<JobId> woken = {};  ///< Whose claims became held, or who started: to be settled.

  Notice notice(NoticeKind kind, const JobState& job) const {
    Notice n;
    n.kind = kind;
    n.at = at;
    n.occurred_at = occurred_at;
    n.job = job.row.id;
    n.generation = job.row.generation;
    return n;
  }
};

/// So many new workers of a role on one node.
struct Placed {
  RoleIndex role;
  NodeCount at;
  std::optional<Seat> seat = std::nullopt;  ///< Exactly where the one worker sits; else anywhere.
};

/// Goes to `to` and tells so; the edge must be legal. The same phase with another reason only
/// changes the reason.
void set_phase(Step& step, JobState& job, JobPhase to, Reason reason);

/// End of the longest wait of a job that is Pending; never where there is none.
Instant waits_until(const JobState& job);

/// End of the longest run of a job that has started; never where there is none.
Instant runs_until(const JobState& job);

/// Raises a counter and tells so.
void count(Step& step, JobState& job, Counter counter);

/// Tells that an event, or a part of a plan, changed nothing.
void ignore(Step& step, const JobState* job, Ignored why, std::size_t event_kind);

/// Sets the timer of a job to look at it again at `at`. One that is Pending is looked at no later
/// than its wait may last, whatever else it waits for.
void look_again(Step& step, JobState& job, Instant at);

/// Chooses nodes for every role of a job at these replicas of the elastic one; claims nothing.
/// `elastic_nodes` may fix where the elastic replicas go; whoever has a seat goes there. False
/// where it does not fit.
bool find_places(Step& step,
                 const JobState& job,
                 std::int32_t replicas,
                 std::span<const NodeCount> elastic_nodes,
                 std::vector<Placed>& out);

/// One entry per node, ascending.
std::vector<NodeCount> merged(std::span<const NodeCount> nodes);

/// Whether each node has room for the replicas named; no node may stand twice.
bool fits_there(const Ledger& ledger, const Demand& demand, std::span<const NodeCount> nodes);

/// What one replica of the role takes.
Demand demand_of(Step& step, const JobState& job, RoleIndex role);

/// Whether every node has ports for the new workers that it is to take (core/discovery).
bool ports_fit(const Ledger& ledger, const JobSpec& spec, std::span<const Placed> added);

/// The order in which new workers claim their places, as indices: seats before all else, so that
/// whoever sits wherever it fits leaves them free; then, where parts of devices are asked for, the
/// role that a policy sizes. The search for places goes the same way: which parts are broken off
/// first decides whether the others still fit.
std::vector<std::size_t> claim_order(const State& state,
                                     const JobState& job,
                                     std::span<const Placed> added);

/// Whether all of it can be claimed one after the other, not only each by itself.
bool fits_together(Step& step, const JobState& job, const std::vector<Placed>& added);

/// Begins a change of membership: workers with `keep[rank] == 0` are stopped, `replace[rank] != 0`
/// are started again in place (their lease goes on), `added` are claimed beside. The capacity of
/// `added` must be free after `release_dropped` was called.
struct MembershipChange {
  std::vector<std::uint8_t> keep;     ///< Per present rank.
  std::vector<std::uint8_t> replace;  ///< Per present rank; wins over `keep`.
  std::vector<Placed> added;
};

/// In `JobState::next_from`: a worker that starts with the next membership.
inline constexpr std::uint32_t kNew = UINT32_MAX;

/// Asks workers to stop; `give_up` hands their capacity to new claims. On a silent node they are
/// gone already: its agent has fenced itself.
void stop_workers(Step& step, JobState& job, const std::vector<std::uint32_t>& ranks, bool give_up);

/// The order that starts a member of the present generation.
WorkerStart start_of(const JobState& job, std::uint32_t rank);

/// The order that stops a worker of this rank.
WorkerStop stop_of(const Worker& worker, std::uint32_t rank);

/// The successor of a worker, started in place: the lease goes over to it, with its ports of now.
Worker successor_of(const Ledger& ledger, Worker& worker);

/// Whether the worker, if it stays in a membership that changes by decision, has to start anew: all
/// do under `rescale: restart`, and under `auto` those that cannot be told of the change.
bool must_start_anew(const JobState& job, const Worker& worker);

/// Starts those anew, in place, that came up with the environment of a membership that was over by
/// then. True where there was such a worker.
bool restart_outdated(Step& step, JobState& job);

/// A ledger to try claims on: whatever is done to it is undone at the end. Copies the ledger, so it
/// is for the few decisions that must be exact before anybody is disturbed.
class LedgerTrial {
 public:
  explicit LedgerTrial(Step& step)
      : step_(step), before_(step.state.ledger), woken_(step.woken.size()) {}

  LedgerTrial(const LedgerTrial&) = delete;
  LedgerTrial& operator=(const LedgerTrial&) = delete;

  ~LedgerTrial() {
    step_.state.ledger = std::move(before_);
    step_.woken.resize(woken_);
  }

  /// Gives back what workers hold that go; `keep` by rank, 0: the worker goes. Empty: all go.
  void give_up(const JobState& job, std::span<const std::uint8_t> keep);

  /// Claims the places; they must fit together.
  void take(const JobState& job, std::span<const Placed> added);

 private:
  Step& step_;
  Ledger before_;
  std::size_t woken_;
};

/// Whether `added` fits together beside those who stay, once the others have given back what they
/// hold. Exact, where fits_together on the ledger of now does not know yet what comes free.
bool fits_after(Step& step, const JobState& job, const MembershipChange& change);

/// First half: stops what goes and gives its capacity up for new claims.
void release_dropped(Step& step, JobState& job, const MembershipChange& change);

/// Second half: claims `added`, forms the next membership, and starts it as soon as it can.
void form_next(Step& step, JobState& job, const MembershipChange& change);

/// Drops a change of membership that has not started; what it claimed is free again. Whoever was to
/// start again in place while his predecessor still stops has no lease to go on with.
void abandon_next(Step& step, JobState& job);

/// Gives everything back; the job waits again once drained.
void give_all_back(Step& step, JobState& job, Reason reason);

/// Whether every required worker has exited 0.
bool all_required_succeeded(const JobState& job);

/// Lets a change under way go on if nothing holds it up any more.
void advance(Step& step, JobState& job);

/// Looks at what the workers have become and acts: success, recovery, Running.
void settle(Step& step, JobState& job);

/// Ends the job; stops what still runs; frees its leases as the workers go.
void finish(Step& step, JobState& job, JobPhase phase, Reason reason);

/// Stops those that a final job has left running, whatever it keeps otherwise.
void stop_remaining(Step& step, JobState& job);

/// Workers that were told to stop did not go in time: they are killed.
void kill_late(Step& step, JobState& job);

/// A worker has become `state`, which is one of the gone ones.
void worker_gone(Step& step, JobState& job, Worker& worker, WorkerState state);

/// Looks at the jobs in `Step::woken` until there are none. Whatever an event brings about in jobs
/// other than its own happens here, after the event: nothing that looks at workers is in progress.
void settle_woken(Step& step);

/// Tells the workers of a job who they all are, and their ranks.
void tell_membership(Step& step, JobState& job);

/// All workers are up: Running, at the size that a user asked for meanwhile.
void become_running(Step& step, JobState& job, Reason reason);

/// Brings a job that no policy sizes to its user's target, as far as there is room.
void meet_target(Step& step, JobState& job);

/// Of a preemptible job: whether the core brings it to the number that its user asked for. Not
/// where nobody asked, and not where the policy sizes jobs: to that the number is a bound.
bool is_met_by_core(const State& state, const JobState& job);

/// Tells devices and replicas after they changed, and keeps the row's counts.
void note_allocation(Step& step, JobState& job);

}  // namespace orrery
