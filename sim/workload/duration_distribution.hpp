// Draws how long jobs run.
#pragma once

#include <vector>

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/generator_spec.hpp"

namespace orrery::sim {

using scenarios::BoundedParetoDuration;
using scenarios::DurationDistribution;
using scenarios::DurationShape;
using scenarios::ExponentialDuration;
using scenarios::FixedDuration;
using scenarios::LognormalDuration;
using scenarios::WeibullDuration;

/// Draws from one distribution, which must have passed `check` and is copied.
class DurationSampler {
 public:
  explicit DurationSampler(DurationDistribution distribution);

  /// Whole microseconds, between the distribution's shortest and longest.
  Duration draw(Random& random) const;

 private:
  DurationDistribution distribution_;
  std::vector<double> weights_;
};

}  // namespace orrery::sim
