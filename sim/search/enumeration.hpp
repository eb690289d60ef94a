// The candidates of a search, in a fixed order, in steps so coarse that they are not too many.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/search/candidate.hpp"
#include "sim/search/searched_job.hpp"

namespace orrery::sim {

/// Which roles share devices: pools without their sizes, and whether generation is on all of them.
struct Sharing {
  std::vector<std::vector<std::int32_t>> pools;  ///< Roles, ascending; pools by their first role.
  bool generates_everywhere = false;
};

/// Every way to share that the job allows.
std::vector<Sharing> all_sharings(const SearchedJob& job);

/// At most so many candidates come of pools whose sizes are multiples of `step`.
std::int64_t count_candidates(const SearchedJob& job,
                              const std::vector<Sharing>& sharings,
                              std::int32_t step);

/// Says whether more candidates are wanted.
using CandidateVisitor = std::function<bool(const Candidate&)>;

/// Calls `visit` for each of them, in a fixed order, until it says false. Candidates that only
/// differ in which of equal nodes they use come once, where all nodes are at one switch.
void for_each_candidate(const SearchedJob& job,
                        const std::vector<Sharing>& sharings,
                        std::int32_t step,
                        const CandidateVisitor& visit);

/// Candidates that differ from this one by `step` devices of a pool, or by as many that pass from
/// one pool to another; with each number of micro-batches.
std::vector<Candidate> neighbours(const SearchedJob& job,
                                  const Candidate& candidate,
                                  std::int32_t step);

}  // namespace orrery::sim
