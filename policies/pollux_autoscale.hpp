// How many nodes a cluster under Pollux should have, by how well its jobs use them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/bytes.hpp"

namespace orrery::policies {

struct AutoscaleOptions {
  std::int32_t nodes_min = 0;  ///< 0: all nodes are used, always.
  double utility_low = 0.35;   ///< Below it there are too many nodes.
  double utility_high = 0.65;  ///< Above it too few.
};

/// Watches the utility of a cluster: the sum of its jobs' speedups against one device each, over
/// its devices. Where the mean of the latest 15 samples lies outside the range, and there is one
/// sample more, the number of nodes is chosen anew: by bisection, the one whose utility is nearest
/// to the middle of the range. The samples are forgotten then.
///
/// (Qiao et al., OSDI 2021, and its artifact's simulator, whose own bisection fails.)
class UtilityAutoscaler {
 public:
  static constexpr std::size_t kSamples = 15;

  explicit UtilityAutoscaler(const AutoscaleOptions& options) : options_(options) {}

  /// Whether the number of nodes varies at all.
  bool is_on(std::int32_t nodes_max) const {
    return options_.nodes_min > 0 && options_.nodes_min < nodes_max;
  }

  /// Notes one sample at `nodes` of at most `nodes_max`. Returns how many there shall be; asks
  /// `utility_at(n)` for what n nodes would have.
  std::int32_t next(double utility,
                    std::int32_t nodes,
                    std::int32_t nodes_max,
                    const std::function<double(std::int32_t)>& utility_at);

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  AutoscaleOptions options_;
  std::vector<double> samples_;  ///< The latest, oldest first.
};

/// The number of nodes from `nodes_min` to `nodes_max` whose utility is nearest to `target`, found
/// by bisection from `nodes`: utility falls with the number of nodes. Of two that are as near, the
/// greater one.
std::int32_t nodes_for_utility(double target,
                               std::int32_t nodes_min,
                               std::int32_t nodes_max,
                               std::int32_t nodes,
                               const std::function<double(std::int32_t)>& utility_at);

}  // namespace orrery::policies
