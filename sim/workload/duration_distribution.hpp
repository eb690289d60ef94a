// How long jobs run: the distributions of workload descriptions.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace orrery::sim {

/// Always the same duration.
struct FixedDuration {
  Duration value;
};

struct ExponentialDuration {
  Duration mean;
};

/// exp of a normal number: half are below `median`; `sigma` is the standard deviation of the
/// natural logarithm, 0 or more. About 10% exceed median x exp(1.28 sigma).
struct LognormalDuration {
  Duration median;
  double sigma = 1.0;
};

/// `shape` below 1 is heavy-tailed, 1 is exponential with mean `scale`.
struct WeibullDuration {
  double shape = 1.0;
  Duration scale;
};

/// Power law of exponent -(shape + 1) between `low` and `high`.
struct BoundedParetoDuration {
  double shape = 1.0;
  Duration low;
  Duration high;
};

using DurationShape = std::variant<FixedDuration,
                                   ExponentialDuration,
                                   LognormalDuration,
                                   WeibullDuration,
                                   BoundedParetoDuration>;

/// One shape, or a mixture of several: each draw takes part i with probability weight_i / sum.
struct DurationDistribution {
  struct Part {
    double weight = 1.0;  ///< Above 0.
    DurationShape shape;
  };

  std::vector<Part> parts;                        ///< At least one.
  Duration shortest = Duration::seconds(1);       ///< Shorter draws become this; above 0.
  Duration longest = Duration::seconds(4628226);  ///< Longer draws become this (53.6 days).

  /// A single shape.
  static DurationDistribution of(DurationShape shape) { return {.parts = {{1.0, shape}}}; }
};

/// What is wrong with `distribution`, each error naming `subject` and a field of it; empty when
/// nothing is.
Errors check(const DurationDistribution& distribution, const std::string& subject);

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
