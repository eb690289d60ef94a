// One application of the Pollux profiles (OSDI 2021 artifact): measured step times and full
// training runs, and what the artifact's simulator derives from them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/models/goodput.hpp"
#include "core/models/interpolation.hpp"

namespace orrery {

/// One epoch of a measured training run; the counts are cumulative, at the end of the epoch.
struct TrainingEpoch {
  double progress = 0;    ///< Iterations at the initial batch that were worth as much.
  double iterations = 0;  ///< Iterations at the run's own batch.
  GradientStats stats;    ///< During the epoch.
};

/// A measured training run at one total batch.
struct TrainingRun {
  int total_batch = 0;  ///< Examples.
  std::vector<TrainingEpoch> epochs;
};

/// What the importer reads for one application.
struct PolluxTables {
  std::string name;
  BatchLimits limits;
  int epochs_max = 0;    ///< A job ends after this many epochs; each run has as many at least.
  int replicas_max = 0;  ///< Most replicas an elastic policy may give; 0 for no own limit.
  /// Total batch of jobs that would choose their own: 0 lets them.
  int tuned_batch = 0;
  int nodes_profiled_max = 0;  ///< The surface answers for more nodes as for this many.
  /// Measured placements by GPUs per node in rank order, the smallest rotation of each.
  std::map<std::vector<int>, StepCurve> placements;
  StepSurface surface;            ///< Over (nodes, replicas, batch), for all other placements.
  std::vector<TrainingRun> runs;  ///< By ascending batch, at least one.
};

/// Read-only; jobs and policies share it.
class PolluxApplication {
 public:
  /// `tables` must be consistent as the importer leaves them: runs cover the batch limits and
  /// hold `epochs_max` epochs each.
  explicit PolluxApplication(PolluxTables tables);

  const std::string& name() const { return tables_.name; }

  const BatchLimits& limits() const { return tables_.limits; }

  int epochs_max() const { return tables_.epochs_max; }

  /// The total batch of a job that may choose its own; 0: it chooses.
  int tuned_batch() const { return tables_.tuned_batch; }

  /// Step time of a placement: `gpus_per_node` in rank order, each 1 or more. A measured placement
  /// (any rotation of it) is interpolated over the batch; another over nodes, replicas and batch.
  ///
  /// Beyond what was measured: more nodes count as `nodes_profiled_max`; more replicas than were
  /// measured on so many nodes add synchronisation on the line through the most and half of them,
  /// fewer take as long as the fewest; a larger batch takes computation in proportion. Nothing
  /// where the smallest batch was measured nowhere around so many nodes.
  std::optional<StepTime> step_time(std::span<const int> gpus_per_node, int atomic_batch) const;

  /// Statistics during `epoch` (from 0), linear between the profiled batches around `total_batch`,
  /// which lies within the runs' batches.
  GradientStats gradient_stats(int total_batch, int epoch) const;

  /// Progress at which `epoch` epochs are complete: the least that any run needed.
  double progress_after(int epochs) const;

  /// Iterations at `total_batch` until the end of `epoch` (from 0), linear between profiled
  /// batches.
  double iterations_through(int total_batch, int epoch) const;

  /// Iterations at `total_batch` that a job in `epoch` still needs, counted from that epoch's end
  /// as the artifact's oracle does; 1 in the last epoch.
  double iterations_left(int total_batch, int epoch) const;

  /// Most replicas that an elastic policy may give a job of this batch.
  int replicas_max(int total_batch) const;

  /// Seconds of an iteration of `total_batch` on `replicas` GPUs packed onto nodes of
  /// `gpus_per_node`; a single replica always accumulates. Nothing where the profile does not
  /// reach.
  std::optional<double> packed_iteration_time(int total_batch,
                                              int replicas,
                                              int gpus_per_node) const;

 private:
  std::optional<StepTime> over_surface(int nodes, int replicas, int atomic_batch) const;
  std::optional<StepTime> nearest_batch(int nodes, int replicas, int atomic_batch) const;
  std::optional<StepTime> beyond(int nodes, int replicas, int atomic_batch) const;
  std::optional<StepTime> fewest_measured(int nodes, int above, int atomic_batch) const;

  struct Neighbours {
    const TrainingRun& lower;
    const TrainingRun& upper;
  };

  Neighbours runs_around(int total_batch) const;

  PolluxTables tables_;
  int gpus_profiled_ = 0;  ///< Most replicas that were measured on one node.
};

/// Applications by name.
using PolluxProfiles = std::map<std::string, PolluxApplication, std::less<>>;

/// The rotation of `gpus_per_node` that comes first in lexicographic order.
std::vector<int> smallest_rotation(std::span<const int> gpus_per_node);

}  // namespace orrery
