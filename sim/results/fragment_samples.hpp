// Fragmentation over the time of a run, from a bounded number of looks at the cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"
#include "core/state/state.hpp"

namespace orrery::sim {

/// Looks at the whole cluster after every step, then after every second one, every fourth, and so
/// on: a look costs as much as there are nodes, and at most `points_max` are kept.
class FragmentSamples {
 public:
  struct Point {
    Instant at;
    double devices = 0;  ///< The fragment of all usable nodes for the mix of the live jobs.
  };

  /// `points_max` is even and at least 2.
  explicit FragmentSamples(std::size_t points_max = 256) : points_max_(points_max) {}

  /// After a step; time does not go back.
  void observe(const State& state);

  /// Ascending; each holds until the next.
  const std::vector<Point>& points() const { return points_; }

  /// Mean over time from the first point to `end`, and the highest; 0 without any.
  double mean(Instant end) const;
  double highest() const;

 private:
  std::size_t points_max_;
  std::vector<Point> points_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
};

/// The fragment of all usable nodes for the mix of the live jobs, in devices.
double fragmented_devices(const State& state);

}  // namespace orrery::sim
