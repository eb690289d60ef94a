#include "core/models/throughput_profile.hpp"

#include <algorithm>

namespace orrery {

bool ThroughputProfile::add(const ThroughputObservation& observation) {
  const auto same_shape = [&](const ThroughputObservation& known) {
    return known.spread.nodes == observation.spread.nodes &&
           known.spread.replicas == observation.spread.replicas &&
           known.atomic_batch == observation.atomic_batch;
  };
  if (std::any_of(observations_.begin(), observations_.end(), same_shape)) return false;
  if (observations_.size() == kShapesMax) observations_.erase(observations_.begin());
  observations_.push_back(observation);
  replicas_most_ = std::max(replicas_most_, observation.spread.replicas);
  fitted_.reset();
  return true;
}

const ThroughputParameters& ThroughputProfile::parameters() const {
  if (!fitted_) fitted_ = fit_throughput(observations_, limits_);
  return *fitted_;
}

}  // namespace orrery
