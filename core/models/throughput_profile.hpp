// What a job has measured of its speed so far, and the model fitted to it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/models/throughput_fit.hpp"

namespace orrery {

/// Observations of one job, one for each (nodes, replicas, batch per replica). Equal observations
/// give equal parameters, whenever they are asked for.
class ThroughputProfile {
 public:
  /// Most shapes that are kept; beyond them the oldest one goes.
  static constexpr std::size_t kShapesMax = 256;

  explicit ThroughputProfile(const FitLimits& limits = {}) : limits_(limits) {}

  /// Notes the observation; the first of its shape counts. Whether it was new.
  bool add(const ThroughputObservation& observation);

  bool empty() const { return observations_.empty(); }

  /// In the order in which they were made.
  std::span<const ThroughputObservation> observations() const { return observations_; }

  /// Most replicas that anything was measured with; 0 where nothing was.
  int replicas_most() const { return replicas_most_; }

  /// Fitted to all observations, of which there is one at least. Fitted when first asked for.
  const ThroughputParameters& parameters() const;

 private:
  FitLimits limits_;  ///< Of a fit.
  std::vector<ThroughputObservation> observations_;
  int replicas_most_ = 0;
  mutable std::optional<ThroughputParameters> fitted_;
};

}  // namespace orrery
