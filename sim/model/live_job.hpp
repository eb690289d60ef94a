// The truth about one job that was submitted and is not over.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/rare_part.hpp"
#include "core/base/units.hpp"
#include "core/models/pollux_job.hpp"
#include "sim/model/model_job.hpp"
#include "sim/model/stage_run.hpp"

namespace orrery::sim {

/// Exit codes of processes that a signal ended, as a shell counts them.
inline constexpr std::int32_t kAskedToStop = 143;  ///< By SIGTERM.
inline constexpr std::int32_t kKilled = 137;       ///< By SIGKILL.

/// One worker process of the model.
struct ModelWorker {
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  Incarnation incarnation;
  Generation born;         ///< Generation and
  Rank birth_rank;         ///< rank at its start: how it is reported.
  Rank rank;               ///< Its present one: how orders name it.
  Generation generation;   ///< The membership that it knows.
  Generation environment;  ///< And the one that its environment has; 0: its program has said hello.
  std::int32_t first_port = 0;  ///< Of its ports; 0: it has none.
  double slow = 1;              ///< Each unit of its work takes so many times as long.
  bool ready = false;
  bool stopping = false;
  bool alive = true;          ///< False: dead, and not reported yet.
  bool hung = false;          ///< Lives, does nothing and hears nothing but a kill.
  bool killed = false;        ///< Stopping: ends by a kill, as it does not end in time when asked.
  bool stuck = false;         ///< Hung in the kernel: a kill is pending until it is over.
  bool was_slow = false;      ///< Its work took longer than it should at some time.
  bool told_slow = false;     ///< Suspected as a straggler already.
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;
  Instant since;                       ///< When its process was created.
  Instant ends_at = Instant::never();  ///< Stopping: when it ends.
  Instant hung_at;                     ///< Hung: since when,
  Instant hung_until;                  ///< and until when.
};

/// A place in a job as one number, as `LiveJob::parts_done` has it: the role above these bits.
inline constexpr int kSlotRoleShift = 20;

inline std::uint32_t slot_of(RoleIndex role, std::int32_t local_rank) {
  return static_cast<std::uint32_t>(role.value) << kSlotRoleShift |
         static_cast<std::uint32_t>(local_rank);
}

/// Checkpoints for which the work stops, counted from when it began.
struct CheckpointPauses {
  Duration every;  ///< Work between two of them; zero: none stops it.
  Duration each;   ///< How long each takes.

  friend bool operator==(const CheckpointPauses&, const CheckpointPauses&) = default;

  /// How much of the first `elapsed` is work.
  Duration worked_in(Duration elapsed) const;

  /// After how long so much work is done: before a checkpoint that is due then, or less than
  /// `rounding` earlier.
  Duration elapsed_for(Duration work, Duration rounding) const;
};

/// A role whose failover has been asked of its sub-master and is not done.
struct LedRole {
  RoleIndex role;
  std::uint32_t incident = 0;
  bool started = false;  ///< Its work goes on; only the last word is missing.
};

/// A job with its workers and its progress.
///
/// Only workers that know the newest membership count for progress. Where orders reach every worker
/// at once that is all of them; behind a network an old start may live on beside its successor.
struct LiveJob {
  ModelJob job;
  JobId id;
  std::uint32_t masters = 0;               ///< Roles that are a sub-master's, of one worker each.
  std::vector<ModelWorker> workers;        ///< In order of start; ended ones are removed.
  std::vector<std::int32_t> script_lives;  ///< Per script: how often it has struck. Of jobs with
                                           ///< `lives`: at the first of each worker, how many of
                                           ///< its lives came up, or ended so.
  Generation generation;                   ///< The newest that any worker was told.
  std::uint32_t world_size = 0;  ///< Workers of the generation that have not done their part,
                                 ///< sub-masters aside.
  Incarnation newest;            ///< Of all that were started.
  bool running = false;          ///< Work goes on (or would, at rate 0).
  bool forming = false;          ///< No worker that works knows the newest membership.
  bool hampered = false;         ///< Some worker may be hung or slow, or a role is led.
  bool all_required = false;  ///< Known to be so of all roles: the specification need not be read.
  double done = 0;            ///< Work at `as_of`.
  double rate = 0;            ///< Units per second from then on.
  double safe = 0;            ///< Work in the last checkpoint.
  double told_safe = 0;       ///< Of that, what the controller was told.
  double worked = 0;          ///< All work that was ever done; `done` is this less `lost`.
  double lost = 0;            ///< Work that failures took.
  Instant as_of;
  Instant running_since;              ///< For checkpoints at fixed intervals.
  RarePart<CheckpointPauses> pauses;  ///< At a constant rate.
  Instant paused_until;               ///< Rescale or restore pause.
  std::uint32_t stamp = 0;            ///< Of the completion that is still meant.
  bool rate_untold = false;           ///< `rate` is another than the controller was told last.
  bool over = false;                  ///< The controller has ended it.
  bool placed = false;                ///< Has workers; see LiveJobs.
  std::unique_ptr<StageRun> stages;   ///< Null: the job sends nothing, or was never formed.
  std::vector<LedRole> led;
  std::vector<std::uint32_t> parts_done;  ///< `slot_of` those that exited 0, or count as done.
  std::unique_ptr<PolluxJob> pollux;      ///< With timing `pollux`, from the first start on.

  /// Work at `now`, at the present rate.
  double done_at(Instant now) const;

  /// When so much more work is done, that takes `work` without checkpoints, from `from` on.
  /// No checkpoint is written less than `rounding` before.
  Instant done_by(Instant from, Duration work, Duration rounding) const;

  /// Work that a crash at `now` leaves: all of it where `interval` is zero, else what was done by
  /// the last checkpoint that is over.
  double safe_at(Instant now, Duration interval) const;

  /// When the first checkpoint after `now` is over; `interval` is above zero.
  Instant next_checkpoint(Instant now, Duration interval) const;

  /// Members that are ready, of the elastic role and in all but sub-masters. Where the elastic role
  /// has none, since all of it have done their parts, so many: the rest of the work is that of the
  /// others, who go on as before.
  std::int32_t ready_elastic() const;
  std::uint32_t ready_count() const;

  /// Whether every member of the newest membership that is waited for is able to work.
  bool is_whole() const { return world_size > 0 && ready_count() == world_size; }

  /// Whether the worker is able to work and knows the newest membership.
  bool counts(const ModelWorker& worker) const {
    return worker.ready && worker.alive && !worker.stopping && worker.generation == generation;
  }

  bool is_required(const ModelWorker& worker) const {
    return all_required || job.spec->roles[worker.role.index()].completion == Completion::Required;
  }

  /// Whether the worker leads the failover of a role and does none of the work.
  bool is_master(const ModelWorker& worker) const {
    return masters > 0 && !job.spec->roles[worker.role.index()].master_of.is_none();
  }

  /// Where the worker that speaks for the job is: the first that knows the newest membership.
  NodeId spokesman() const;

  ModelWorker* find(Incarnation incarnation, Rank birth_rank);
};

}  // namespace orrery::sim
