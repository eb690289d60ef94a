// Best goodputs of one job by its size, each computed when first asked for.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/models/goodput.hpp"

namespace orrery {

/// The goodput of `GoodputModel::best_split` for every number of replicas, on one node or on
/// several: how many nodes there are beyond one makes no difference to the model.
///
/// Copies, which may have gradients of their own, compute times of batches once for all of them;
/// they are for one thread.
class GoodputTable {
 public:
  GoodputTable() = default;

  /// `samples` as in `GoodputModel::timed_splits`.
  GoodputTable(const ThroughputParameters& parameters,
               const BatchLimits& limits,
               int samples = GoodputModel::kSamples)
      : parameters_(parameters), limits_(limits), samples_(samples) {}

  /// Gradients change far more often than speeds: what is known of these stays.
  void set_stats(const GradientStats& stats);

  /// Examples of initial-batch worth per second; `spread.replicas` at least 1. Where no batch is
  /// small enough for so many replicas, the one of the smallest batch per replica.
  double at(ReplicaSpread spread);

 private:
  /// [several nodes][replicas]
  template <class T>
  using BySize = std::array<std::vector<T>, 2>;

  struct Times {
    std::vector<GoodputModel::TimedSplit> splits;
    bool are_known = false;
  };

  const Times& times_of(const GoodputModel& model, ReplicaSpread spread);

  ThroughputParameters parameters_;
  BatchLimits limits_;
  int samples_ = GoodputModel::kSamples;
  GradientStats stats_;
  std::shared_ptr<BySize<Times>> times_ = std::make_shared<BySize<Times>>();
  BySize<double> goodputs_;  ///< Below 0: not computed for these gradients.
};

}  // namespace orrery
