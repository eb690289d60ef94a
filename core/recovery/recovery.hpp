// What a job does about workers that failed or were lost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/membership/change.hpp"

namespace orrery {

/// Workers failed: one incident, charged once to its root, the lowest rank among them; then the job
/// recovers, or ends where a limit is passed.
void on_failures(Step& step, JobState& job, RankFlags failed, Reason reason);

/// Workers were deleted from outside: they are replaced without charge, which is a change and no
/// failure.
void on_losses(Step& step, JobState& job, RankFlags lost);

/// A node, or a device of one, took these workers along: counted to the budget of such losses, not
/// to the backoff limit.
void on_node_loss(Step& step, JobState& job, RankFlags lost, NodeId node, Reason reason);

/// Looks for failures among the workers while the job is in no change of membership, and acts.
void settle_failures(Step& step, JobState& job);

/// One incident is charged once: workers that fail while the job recovers from a failure are
/// replaced along with the first, or a crash that all peers of a collective feel one after the
/// other would use up the whole budget.
void join_recovery(Step& step, JobState& job);

/// Whether the recovery under way is of a sub-master alone, and a worker has failed meanwhile: that
/// is an incident of its own.
bool outgrows_recovery(const JobState& job);

/// Replaces the workers marked, widened to `scope`. Falls back to fewer elastic replicas, then to
/// waiting. Ends the job where a limit on restarts of whole roles or of the job is passed.
void recover(Step& step, JobState& job, RankFlags failed, Reason reason, RecoveryScope scope);

/// Nobody starts on a node that takes no workers any more (excluded, leaving, held, a device lost)
/// when the change under way goes on: a recovery gives those workers other places, without a
/// charge; one that left the job smaller, and a start, begin again from the queue. A change of size
/// goes on as planned while somebody of the job runs.
void leave_unusable_nodes(Step& step, JobState& job);

/// The start took longer than the job's deadline: a failure, charged like a crash.
void fail_start(Step& step, JobState& job);

/// A change of membership or a restart waits for places for too long: a failure, charged like a
/// crash. The job gives all back and waits for other places.
void fail_change(Step& step, JobState& job);

/// A sub-master failed: counted to its own budget. False: that is used up, the job has been ended.
bool charge_master(Step& step, JobState& job, const Worker& master);

/// Starts a worker that is far slower than its peers again on another node, if there is room on
/// one.
void move_straggler(Step& step, JobState& job, const Worker& straggler);

/// Whether the program of the worker ended with an error that the job does not act upon now.
bool is_set_aside(const JobState& job, const Worker& worker);

/// Whether the job waits for somebody outside before its recovery goes on: a sub-master, or the
/// extension that relaunches nodes. Reports meanwhile change no counter.
bool awaits_answer(const JobState& job);

/// What the job waited for has come, or comes no more: all that failed meanwhile is replaced.
void resume_recovery(Step& step, JobState& job, Reason reason, RecoveryScope scope);

/// A new leader: what was asked by the one before may have been lost with it, so it is asked
/// again.
void repeat_questions(Step& step, JobState& job);

/// The time for the answer is over.
void give_up_answer(Step& step, JobState& job);

/// Places for `missing` replicas per role. An elastic job goes on with its survivors where they are
/// enough; workers with a seat go back to it. `kept`: `present_after`. False where the job cannot
/// go on.
bool place_missing(Step& step,
                   const JobState& job,
                   const std::vector<std::int32_t>& missing,
                   std::span<const std::uint8_t> kept,
                   std::vector<Placed>& added);

}  // namespace orrery
