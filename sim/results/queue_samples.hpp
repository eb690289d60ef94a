// Shares and use of queues over the time of a run, from looks at its state.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/control/queue_standings.hpp"
#include "core/state/state.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Looks at the queues once in each instant in which something happened; after 16,384 looks when a
/// second has passed since the last one, after as many more when two have, and so on: a look costs
/// as much as there are live jobs.
class QueueSamples {
 public:
  struct Point {
    Instant at;
    std::vector<QueueStanding> queues;  ///< In the order of QueueStandings::list.
  };

  /// A step told something.
  void changed() { changed_ = true; }

  /// All of the instant `state.now` has been stepped; time does not go back. Where no queues are
  /// set, and where nothing has changed, nothing is done.
  void look(const State& state);

  /// Some of the looks, ascending: at most `kPointsMax`.
  const std::vector<Point>& points() const { return points_; }

  /// The same, for whoever keeps them.
  std::vector<Point> take_points() { return std::move(points_); }

  /// Means from the first look to `end`, each look holding until the next.
  std::vector<QueueMeans> means(Instant end) const;

  static constexpr std::size_t kPointsMax = 512;

 private:
  struct Sum {
    double share = 0;  ///< Times seconds.
    double used = 0;
    double borrowed = 0;
    double used_max = 0;
    std::int64_t waiting_max = 0;
  };

  static void add(const std::vector<QueueStanding>& queues, double seconds, std::vector<Sum>& sums);
  void keep();

  QueueStandings standings_;
  bool changed_ = false;
  Duration apart_ = Duration::zero();
  std::uint64_t looks_ = 0;
  std::uint64_t stride_ = 1;  ///< Of looks that are kept.
  bool any_ = false;
  Instant first_;
  Instant at_;                         ///< Of the last look.
  std::vector<QueueStanding> latest_;  ///< What it found.
  std::vector<Sum> sums_;              ///< Up to it.
  std::vector<Point> points_;
};

}  // namespace orrery::sim
