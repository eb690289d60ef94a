// The genetic search of Pollux: which job has how many replicas on which node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/models/goodput.hpp"

namespace orrery::policies {

/// Replicas of every row (a job) on every node (a column), row by row.
using AllocationMatrix = std::vector<std::uint8_t>;

/// One job as the search sees it.
struct SearchRow {
  std::int32_t replicas_min = 1;
  std::int32_t replicas_max = 1;  ///< At least `replicas_min`.
  std::int32_t devices_each = 1;  ///< Of one replica, at least 1.
  double change_factor = 1;       ///< Its speedup counts so much less once it is moved, 0 to 1.
  AllocationMatrix room = {};     ///< By node: the most replicas that it takes.
};

struct SearchProblem {
  std::vector<SearchRow> rows;        ///< Where two collide, the earlier one is kept.
  std::vector<std::int32_t> devices;  ///< By node: what the rows may share.
  AllocationMatrix current;           ///< What they hold; it fits.

  std::size_t nodes() const { return devices.size(); }

  std::int64_t devices_in_all() const;
};

/// How much faster a job is than on its fair share.
class Speedups {
 public:
  virtual ~Speedups() = default;

  /// Of a row at this size, at least 0. Asked often: remembers.
  virtual double at(std::size_t row, ReplicaSpread spread) = 0;
};

struct SearchOptions {
  std::int32_t population = 100;   ///< Members of a generation, at least 2.
  std::int32_t generations = 100;  ///< At least 1.
  std::int32_t patience = 20;      ///< Ends after so many without a better best.
  double fairness = -1;            ///< p of the generalised mean.
  bool avoid_interference = true;  ///< Jobs on several nodes share none of them.
  /// Population x generations x rows x nodes at most; one generation is bred at the least. 0: any.
  std::int64_t budget = 0;
};

/// What the search found.
struct SearchResult {
  AllocationMatrix best;                ///< The member of greatest fitness.
  std::vector<AllocationMatrix> front;  ///< Members that no other dominates; `best` is of them.
  double fitness = 0;                   ///< Of the best.
  double speedups = 0;                  ///< Sum over its rows.
  std::int32_t generations = 0;         ///< That were bred.
  std::int64_t cells = 0;               ///< Population x generations x rows x nodes.
};

/// Seeks the allocation with the greatest generalised mean of speedups by a multi-objective genetic
/// algorithm, from `starts` (which need not fit) and the present allocation.
///
/// The fitness of a member is [mean((u + 1e-3)^p)]^(1/p), u the row's speedup times nodes /
/// devices, so that a node's worth counts as 1, and times its change factor where the row is not as
/// it is now; p = 0 is the geometric mean. Second objective: the sum of speedups over the devices
/// of the nodes in use. Selection as in NSGA-II (K. Deb et al., 2002); crossover, mutation and
/// repair as in Pollux (A. Qiao et al., OSDI 2021, section 4.2, and its artifact).
SearchResult search_allocations(const SearchProblem& problem,
                                Speedups& speedups,
                                const SearchOptions& options,
                                const std::vector<AllocationMatrix>& starts,
                                Random& random);

}  // namespace orrery::policies
