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

  GoodputTable(const ThroughputParameters& parameters,
               const GradientStats& stats,
               const BatchLimits& limits);

  /// Examples of initial-batch worth per second; `spread.replicas` at least 1. Where no batch is
  /// small enough for so many replicas, the one of the smallest batch per replica.
  double at(ReplicaSpread spread);

 private:
  double best(ReplicaSpread spread) const;

  ThroughputParameters parameters_;
  BatchLimits limits_;
  GradientStats stats_;
  std::array<std::vector<double>, 2> known_;  ///< [several nodes][replicas]; below 0: not yet.
};

}  // namespace orrery
