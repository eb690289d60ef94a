// Best goodputs of one job by its size, each computed when first asked for.
#pragma once

#include <array>
#include <vector>

#include "core/models/goodput.hpp"

namespace orrery {

/// The goodput of `GoodputModel::best_split` for every number of replicas, on one node or on
/// several: how many nodes there are beyond one makes no difference to the model.
class GoodputTable {
 public:
  GoodputTable() = default;

  GoodputTable(const ThroughputParameters& parameters, const BatchLimits& limits)
      : parameters_(parameters), limits_(limits) {}

  /// Gradients change far more often than speeds: what is known of these stays.
  void set_stats(const GradientStats& stats);

  /// Examples of initial-batch worth per second; `spread.replicas` at least 1. Where no batch is
  /// small enough for so many replicas, the one of the smallest batch per replica.
  double at(ReplicaSpread spread);

 private:
  struct Entry {
    std::vector<GoodputModel::TimedSplit> splits;
    bool is_timed = false;  ///< `splits` are those of the parameters.
    double goodput = -1;    ///< Below 0: not computed for these gradients.
  };

  double best(ReplicaSpread spread, Entry& entry) const;

  ThroughputParameters parameters_;
  BatchLimits limits_;
  GradientStats stats_;
  std::array<std::vector<Entry>, 2> known_;  ///< [several nodes][replicas]
};

}  // namespace orrery
