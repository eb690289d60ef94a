// What the runs of several policies over several seeds say: means, and paired differences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/results/summary.hpp"
#include "sim/statistics/bootstrap.hpp"
#include "sim/statistics/paired.hpp"

namespace orrery::sim {

/// The runs of one policy.
struct PolicyStatistics {
  std::string policy;
  std::uint64_t seeds = 0;
  std::vector<SeedEstimate> figures;  ///< As run_figures().

  /// The figure of this key; it exists.
  const SeedEstimate& of(std::string_view key) const;
};

/// One entry per policy, in the order of its first run.
std::vector<PolicyStatistics> statistics_of(std::span<const Summary> results);

/// One policy less another, over their common seeds.
struct PolicyDifference {
  std::string policy;
  std::string against;
  std::vector<PairedDifference> figures;  ///< As run_figures(); adjusted over all pairs.
};

/// Every policy less every one before it, those against the first policy first. None where the
/// policies were not run with the same seeds in the same order, or with fewer than two.
std::vector<PolicyDifference> differences_of(std::span<const Summary> results);

}  // namespace orrery::sim
