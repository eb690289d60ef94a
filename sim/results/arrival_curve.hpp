// How full the cluster is, and how fragmented, against what has arrived: the axes of placement
// experiments, which have no time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"
#include "core/placer/fragmentation.hpp"
#include "core/state/state.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Feed it every submission, then ask once. It looks at the cluster after each job has found its
/// place or was given up, that is when the next one comes. Costs what has changed since.
class ArrivalCurve {
 public:
  /// Fragments are judged by the mix of these bundles, each with the number of its workers.
  explicit ArrivalCurve(std::vector<std::pair<Bundle, std::int64_t>> mix) : mix_(std::move(mix)) {}

  /// A job was submitted; `state` has nodes, and what the jobs before it hold.
  void submitted(const JobSpec& spec, const State& state);

  /// One point for each percent that a job came to, ascending.
  std::vector<ArrivalPoint> close(const State& state);

 private:
  void look(const State& state);
  void measure(const State& state, NodeId node);

  std::vector<std::pair<Bundle, std::int64_t>> mix_;  // Until `fragmentation_` is made of it.
  std::vector<Fragmentation> fragmentation_;          // One, once the models have ids.
  std::vector<std::int64_t> of_node_;                 // Weighted fragments.
  std::int64_t fragments_ = 0;                        // Their sum.
  std::uint64_t version_ = 0;                         // Of the free index, seen so far.
  std::vector<NodeId> changed_;
  std::int64_t arrived_ = 0;  // Thousandths of devices.
  bool any_ = false;
  std::vector<ArrivalPoint> points_;  // Sums, until `close`.
  std::vector<std::int64_t> jobs_;    // Of each point.
};

}  // namespace orrery::sim
