// True progress of one job under the rules of the Pollux artifact's simulator (`timing: pollux`).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/models/goodput.hpp"
#include "core/models/pollux_application.hpp"
#include "core/models/throughput_profile.hpp"

namespace orrery {

/// What the workers of a job measure while it trains.
struct TrainingReport {
  ThroughputObservation observed;
  BatchSplit split;     ///< That it was observed at.
  GradientStats stats;  ///< At the initial batch.

  friend bool operator==(const TrainingReport&, const TrainingReport&) = default;
};

/// A job that trains at a given total batch, or at the one that it finds best, in steps of whole
/// seconds.
///
/// The rules, as far as they decide completion times:
/// * every change of placement costs a delay with the GPUs held, before any progress;
/// * progress counts iterations at the initial batch; an epoch ends at the least progress that any
///   measured run needed, and the crossing is rounded to a whole second, halves to the even one;
/// * a crossing that rounds *back* to the start of a step still belongs to that step, so a policy
///   that runs between two steps sees the job unfinished before it;
/// * the job is complete when `epochs_max` epochs are;
/// * a job that chooses its batch fits a throughput model to what it has measured itself, and takes
///   the batch of the best goodput anew after every epoch, step and change of placement; before it
///   has measured anything, the smallest batch.
class PolluxJob {
 public:
  /// What a change of placement costs in the artifact, whatever the application.
  static constexpr Duration kRescaleDelay = Duration::seconds(30);

  /// The `total_batch` of a job that chooses its batch itself.
  static constexpr int kTuned = 0;

  /// A job without GPUs at `now`. `application` outlives it; `total_batch` lies within its limits,
  /// or is `kTuned`.
  PolluxJob(const PolluxApplication& application, int total_batch, Instant now);

  /// What the job is like on the devices that it is moved to next: the same application, measured
  /// on another model. `application` outlives the job. What it has measured itself is remembered
  /// model by model.
  void measured_as(const PolluxApplication& application);

  /// Moves the job to `gpus_per_node` (in rank order; empty: all taken away) and starts the delay,
  /// whole seconds. False, and nothing changed, where the application's profile does not reach that
  /// placement.
  [[nodiscard]] bool reallocate(std::span<const int> gpus_per_node, Duration delay = kRescaleDelay);

  /// Lets `span` pass: whole seconds, 0 or more. A completed job only ages.
  void step(Duration span);

  Instant now() const { return now_; }

  /// Epochs complete, which is also the index of the running one.
  int epoch() const { return epoch_; }

  /// Iterations at the initial batch.
  double progress() const { return progress_; }

  /// GPU-seconds held so far, delays included; nothing is charged after completion.
  std::int64_t attained_gpu_seconds() const { return attained_gpu_seconds_; }

  /// Part of the last delay that is still to pass.
  Duration rescale_left() const { return rescale_left_; }

  BatchSplit split() const { return split_; }

  const std::vector<int>& placement() const { return placement_; }

  std::optional<Instant> completed_at() const { return completed_at_; }

  /// Progress per second in the running epoch; 0 without GPUs or when complete.
  double rate() const { return completed_at_ || replicas_ == 0 ? 0 : rate_; }

  /// As given; `kTuned` where the job chooses.
  int total_batch() const { return total_batch_; }

  /// What was measured last; nothing where it was asked for already since the last change of it or
  /// of the placement.
  std::optional<TrainingReport> take_report();

  const PolluxApplication& application() const { return *application_; }

 private:
  bool is_tuned() const { return total_batch_ == kTuned; }

  void pass(Duration span);
  std::optional<BatchSplit> split_for(ReplicaSpread spread) const;
  void measure();
  void retune();
  void update_rate();

  const PolluxApplication* application_;
  int total_batch_;
  Instant now_;
  std::vector<int> placement_;
  int replicas_ = 0;
  BatchSplit split_;
  StepTime time_;  ///< At the current placement and split.
  double rate_ = 0;
  int epoch_ = 0;
  double progress_ = 0;
  double epoch_end_;  ///< Progress that completes the running epoch.
  Duration rescale_left_;
  std::int64_t attained_gpu_seconds_ = 0;
  std::optional<Instant> completed_at_;
  std::optional<TrainingReport> report_;  ///< The last one; nothing before the first progress.
  std::optional<TrainingReport> taken_;
  bool measured_here_ = false;  ///< The report is of the present placement.
  ThroughputProfile profile_;   ///< Of a job that chooses its batch.
  /// The profiles of other models that it was on, in the order in which it left them first.
  std::vector<std::pair<const PolluxApplication*, ThroughputProfile>> elsewhere_;
};

}  // namespace orrery
