// What starts, stops, restores and changes of membership take: always the same, or drawn.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Draws by name: what one job's start takes depends on the seed, the job and which start of it
/// this is, and on nothing else. So other decisions change no draw, and all workers of one start,
/// stop or change take the same time. A time without a spread is not drawn.
class DrawnTimes {
 public:
  /// `scenario` outlives the object.
  explicit DrawnTimes(const scenarios::Scenario& scenario) : scenario_(scenario) {}

  Duration start(JobId job, Incarnation incarnation) const;
  Duration restore(JobId job, Incarnation incarnation) const;

  /// `asked`: when the workers were asked to stop.
  Duration stop(JobId job, Instant asked) const;

  Duration rescale(JobId job, Generation generation) const;

 private:
  /// Uniform in [0, 1).
  double part(std::uint64_t purpose, JobId job, std::uint64_t which) const;

  const scenarios::Scenario& scenario_;
};

}  // namespace orrery::sim
