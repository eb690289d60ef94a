// The search for the placement of a loop whose turns are shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::function<bool()> stop;         ///< Asked before each candidate; may be empty.
};

/// What a search found.
struct SearchResult {
  std::vector<Prediction> found;  ///< Best first; each placement once, with its best number of
                                  ///< micro-batches. At least one.
  /// Each role with the replicas that the file has, on devices of its own, one part after the
  /// other, as they lie best; nothing where the nodes do not hold them all so.
  std::optional<Prediction> written;
  bool stopped = false;    ///< More would have been tried.
  std::int64_t tried = 0;  ///< Candidates, whatever their micro-batches.
  std::int32_t step = 1;   ///< Pools were tried in multiples of so many devices at first.
  std::int32_t turns = 0;

  /// The first of its mode, or nullptr.
  const Prediction* best_of(placement::Mode mode) const;

  /// The one with the fewest devices whose turn is at most `factor` times the shortest.
  const Prediction& smallest_within(double factor) const;
};

/// Tries every way to share, in steps of devices so large that there are not too many candidates,
/// then goes on with smaller steps from the best placements and the best of each way to share.
/// Equal jobs and options give equal results. Ties go to fewer devices, then to fewer
/// micro-batches, then to packed pools. Where it is stopped, what was found by then is the result.
/// Errors: nothing fits, or nothing was found yet; too many candidates with the largest step; a
/// network that only SimGrid can read.
Result<SearchResult> search_placement(const SearchedJob& job, const SearchOptions& options = {});

}  // namespace orrery::sim
