// Goodput of data-parallel training: throughput times statistical efficiency.
//
// Formulas: Pollux (Qiao et al., OSDI 2021), sections 3.1 and 3.2. With m examples per replica and
// step, s accumulation steps, K replicas on N nodes and M = K m (s + 1):
//   T_grad = alpha_c + beta_c m
//   T_sync = alpha + beta max(K - 2, 0), node-local pair (alpha_r, beta_r) for N = 1 < K, network
//            pair (alpha_n, beta_n) for N > 1, nothing for K = 1
//   T_iter = s T_grad + (T_grad^gamma + T_sync^gamma)^(1 / gamma)
//   goodput = M / T_iter * (phi + M0) / (phi + M), noise scale phi = M0 var / sqr
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace orrery {

/// The seven fitted parameters of the throughput model.
struct ThroughputParameters {
  double alpha_c = 0;  ///< Computation, constant part, seconds.
  double beta_c = 0;   ///< Computation, seconds per example.
  double alpha_n = 0;  ///< Synchronisation between nodes, seconds.
  double beta_n = 0;   ///< Synchronisation between nodes, seconds per replica beyond two.
  double alpha_r = 0;  ///< Synchronisation within a node, seconds.
  double beta_r = 0;   ///< Synchronisation within a node, seconds per replica beyond two.
  double gamma = 1;    ///< Overlap of both: 1 none, 10 nearly all.
};

/// Gradient statistics at the initial batch.
struct GradientStats {
  double sqr = 0;  ///< Squared norm of the gradient.
  double var = 0;  ///< Variance of the gradient.

  friend bool operator==(const GradientStats&, const GradientStats&) = default;
};

/// Bounds of an application's batch, in examples.
struct BatchLimits {
  int initial_total = 0;  ///< M0; also the smallest total batch.
  int total_max = 0;      ///< Largest total batch.
  int atomic_min = 0;     ///< Smallest batch per replica and step.
  int atomic_max = 0;     ///< Largest batch per replica and step.

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

/// How a total batch is computed: `atomic_batch` per replica and step, after `accumulation_steps`
/// steps without synchronisation.
struct BatchSplit {
  int atomic_batch = 0;
  int accumulation_steps = 0;

  /// Examples of one iteration over `replicas` replicas.
  int total(int replicas) const { return replicas * atomic_batch * (accumulation_steps + 1); }

  friend bool operator==(const BatchSplit&, const BatchSplit&) = default;
};

/// Where a data-parallel job runs, as far as the throughput model sees it.
struct ReplicaSpread {
  int nodes = 1;     ///< N, at least 1.
  int replicas = 1;  ///< K, at least `nodes`.

  friend bool operator==(const ReplicaSpread&, const ReplicaSpread&) = default;
};

/// Splits `total_batch` over `replicas`: as few accumulation steps as the limits allow, but one at
/// least for a single replica beyond the initial batch, whose gradient statistics need two samples.
BatchSplit split_batch(double total_batch, int replicas, const BatchLimits& limits);

/// The same for a batch that is given: whole examples per replica first, and never beyond
/// `limits.total_max` in all.
BatchSplit split_given_batch(int total_batch, int replicas, const BatchLimits& limits);

/// Seconds of one accumulation step.
double gradient_time(const ThroughputParameters& parameters, int atomic_batch);

/// Seconds of one synchronisation.
double sync_time(const ThroughputParameters& parameters, ReplicaSpread spread);

/// Seconds of one iteration.
double iteration_time(const ThroughputParameters& parameters,
                      ReplicaSpread spread,
                      BatchSplit split);

/// Iterations at the initial batch that one iteration at `scale` times that batch is worth.
/// `scale` is above 0; 1 where the statistics say nothing.
double statistical_gain(const GradientStats& stats, double scale);

/// A throughput model, gradient statistics and batch limits put together.
class GoodputModel {
 public:
  GoodputModel(const ThroughputParameters& parameters,
               const GradientStats& stats,
               const BatchLimits& limits)
      : parameters_(parameters), stats_(stats), limits_(limits) {}

  struct Choice {
    double goodput = 0;  ///< Examples of initial-batch worth per second.
    BatchSplit split;
  };

  /// A batch that is computed in this way, and its examples per second.
  struct TimedSplit {
    BatchSplit split;
    double throughput = 0;
  };

  /// Examples per second.
  double throughput(ReplicaSpread spread, BatchSplit split) const;

  /// Worth of an example at `total_batch` against one at the initial batch, 0 to 1.
  double efficiency(int total_batch) const;

  double goodput(ReplicaSpread spread, BatchSplit split) const;

  /// So many total batches are looked at in the paper's artifact.
  static constexpr int kSamples = 50;

  /// `samples` total batches, 2 or more, in geometric steps between the smallest and the largest
  /// that `spread` allows, less those that do not fit. No gradient statistics have a part in this.
  std::vector<TimedSplit> timed_splits(ReplicaSpread spread, int samples = kSamples) const;

  /// The best of these splits for `spread`; the first of equal ones, nothing where there is none.
  std::optional<Choice> best_of(std::span<const TimedSplit> splits, ReplicaSpread spread) const;

  /// The best of `timed_splits`. Nothing where no batch fits.
  std::optional<Choice> best_split(ReplicaSpread spread) const {
    return best_of(timed_splits(spread), spread);
  }

 private:
  ThroughputParameters parameters_;
  GradientStats stats_;
  BatchLimits limits_;
};

}  // namespace orrery
