// A quantity that changes in steps, over time: exact while short, then a mean and a highest value
// for each of a bounded number of equal stretches of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// One step. The value holds from `at` until the next point.
struct SeriesPoint {
  Instant at;
  double value = 0;    ///< Of a thinned series: the mean over time until the next point.
  double highest = 0;  ///< Of a thinned series: the highest value until then; else `value`.

  friend bool operator==(const SeriesPoint&, const SeriesPoint&) = default;
};

/// Takes the values in order of time and keeps at most `points_max` points.
///
/// Values are at least 0; before the first it is 0. Those of one instant replace each other. While
/// there is room every change is kept. Beyond that, time is cut into stretches of equal width, a
/// power of two in nanoseconds counted from zero, which doubles as the run goes on; a point then
/// stands for one stretch, or for several of the same mean and highest value.
class StepSeries {
 public:
  /// `points_max` is at least 8.
  explicit StepSeries(std::size_t points_max = 8192) : points_max_(points_max) {}

  /// The value from `at` on; `at` does not go back.
  void add(Instant at, double value);

  /// What the series is up to `end`; later calls of `add` are not allowed.
  void close(Instant end);

  /// Complete only after `close`.
  const std::vector<SeriesPoint>& points() const { return points_; }

  /// Width of one stretch; zero where every change was kept.
  Duration stretch() const { return Duration{width_}; }

  bool is_thinned() const { return width_ > 0; }

 private:
  void append(const SeriesPoint& point);
  void feed(Instant at, double value, double highest);
  void pass_to(Instant at);
  void coarsen();

  std::size_t points_max_;
  std::vector<SeriesPoint> points_;
  std::int64_t width_ = 0;
  // Of a thinned series, the stretch that is not over yet:
  std::int64_t begin_ = 0;  // of the stretch,
  std::int64_t fed_ = 0;    // up to where it is summed up.
  double sum_ = 0;          // Value times nanoseconds.
  double top_ = 0;
  double value_ = 0;  // What holds from `fed_` on, and its highest.
  double value_top_ = 0;
};

}  // namespace orrery::sim
