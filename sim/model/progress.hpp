// How work goes on in the simulated cluster: rates, checkpoints, losses, completions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/model/cluster_state.hpp"
#include "sim/model/staged_work.hpp"
#include "sim/model/worker_speeds.hpp"

namespace orrery::sim {

/// The work of all jobs. It advances while all workers of the newest membership are ready, at the
/// rate that the job's model gives for its elastic replicas, or stage by stage on a fabric. It
/// starts and ends no process.
class Progress {
 public:
  /// `cluster` and `speeds` outlive the object, and `fabric`, which may be null.
  Progress(ClusterState& cluster, WorkerSpeeds& speeds, Fabric* fabric);

  // --- what happens to a job's workers ---

  /// Brings the job's work up to now; the rate goes on as it was.
  void settle(LiveJob& job);

  /// Sets the rate after something changed, and when the work will be done. `told`: a rate that
  /// differs is told.
  void pace(LiveJob& job, bool told);

  /// The same after a start or a change of the membership: a rate that fell without a word, as who
  /// failed could not say so, is told now.
  void pace_anew(LiveJob& job);

  /// The job has a membership of so many workers that take part in its work. Work that goes on
  /// pauses for it where it is another than before.
  void adopt(LiveJob& job, Generation generation, std::uint32_t world_size);

  /// A crash: what was not in a checkpoint is lost. `from`: the node that tells how far the job had
  /// come, before it tells of the crash; none: where its first worker is.
  void lose(LiveJob& job, NodeId from = NodeId::none());

  /// A checkpoint of all work, if every worker can take its part in it.
  void save_if_able(LiveJob& job);

  /// Every worker of the newest membership was told to stop, or is dead.
  void halt(LiveJob& job);

  /// The work is done.
  void finish(LiveJob& job);

  /// The job's last worker is gone.
  void release(LiveJob& job);

  /// Whether its progress is that of PolluxProgress or RoundProgress, and nothing here is done.
  bool follows_artifact(const LiveJob& job) const;

  /// Tells what of the work is in a checkpoint, where that is news, and then how far the job is.
  /// `from` as for `lose`.
  void tell_saved(LiveJob& job, NodeId from = NodeId::none());

  // --- what the cluster's future holds for it ---

  /// A future of kind Resume or Checkpoint, if it is still meant.
  void resume(LiveJob& job, std::uint32_t stamp);
  void checkpoint(LiveJob& job, const Future& future);

  // --- stages on the fabric ---

  /// Null without a fabric.
  StagedWork* stages() { return staged_ ? &*staged_ : nullptr; }

  bool stages_under_way() const { return staged_ && staged_->is_under_way(); }

  /// A stage has ended; whether the job's work is done with it.
  bool stage_ended(LiveJob& job, const StageEnd& end);

 private:
  void tell(LiveJob& job, bool checkpointed, NodeId from = NodeId::none());
  void tell_rate(LiveJob& job, double before, bool told);
  double rate_now(const LiveJob& job) const;
  void set_pauses(LiveJob& job);
  void finish_what_is_done(LiveJob& job);
  void expect_checkpoint(LiveJob& job);
  Duration checkpoint_interval(const LiveJob& job) const;

  bool has_stages(const LiveJob& job) const;
  void form_stages(LiveJob& job);
  void pace_stages(LiveJob& job, bool told);
  void go_on(LiveJob& job, bool told);
  void drop_stages(LiveJob& job);

  ClusterState& cluster_;
  WorkerSpeeds& speeds_;
  std::optional<StagedWork> staged_;  ///< Where there is a fabric.
  bool tells_each_checkpoint_;        ///< When it is written; else when it is needed.
};

}  // namespace orrery::sim
