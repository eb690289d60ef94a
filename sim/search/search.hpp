// The search for the placement of a loop whose turns are shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sim/search/prediction.hpp"
#include "sim/search/searched_job.hpp"

namespace orrery::sim {

struct SearchOptions {
  std::int32_t turns = 32;  ///< Simulated of each candidate, at least 1; fewer where they have
                            ///< many sequences.
  std::int64_t candidates = 100'000;  ///< At most, before the best are refined.
};

/// What a search found.
struct SearchResult {
  std::vector<Prediction> found;  ///< Best first; each placement once, with its best number of
                                  ///< micro-batches. At least one.
  /// Each role with the replicas that the file has, on devices of its own, one part after the
  /// other; nothing where there are too few devices for it.
  std::optional<Prediction> written;
  std::int64_t tried = 0;  ///< Candidates, whatever their micro-batches.
  std::int32_t step = 1;   ///< Pools were tried in multiples of so many devices at first.
  std::int32_t turns = 0;

  /// The first of its mode, or nullptr.
  const Prediction* best_of(placement::Mode mode) const;

  /// The one with the fewest devices whose turn is at most `factor` times the shortest.
  const Prediction& smallest_within(double factor) const;
};

/// Tries every way to share, in steps of devices so large that there are not too many candidates,
/// then goes on from the best with smaller steps. Equal jobs and options give equal results. Ties
/// go to fewer devices, then to fewer micro-batches, then to packed pools. Errors: nothing fits;
/// too many candidates with the largest step; a network that only SimGrid can read.
Result<SearchResult> search_placement(const SearchedJob& job, const SearchOptions& options = {});

}  // namespace orrery::sim
