// Every state that an explored world can come to within its bounds, breadth first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/bounds.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// What was found broken, and the shortest way there.
struct Counterexample {
  Violation violation;
  std::vector<std::string> steps;  ///< One line each.
};

/// How an exploration ended.
struct ExploreReport {
  std::uint64_t states = 0;       ///< Different ones, the first included.
  std::uint64_t transitions = 0;  ///< Steps that were taken from them.
  std::uint32_t depth = 0;        ///< Steps to the farthest state.
  std::uint32_t whole_depth = 0;  ///< All ways of so many steps were tried.
  bool complete = false;          ///< Nothing within the bounds was left out.
  std::optional<Counterexample> counterexample;
};

struct ExploreOptions {
  /// Told now and then what has come so far; may be empty. False ends the exploration.
  std::function<bool(const ExploreReport&)> go_on;
  /// Looks for this kind alone.
  std::optional<ViolationKind> only;
};

/// Tries everything within the bounds, each state once, and stops at the first violation. States
/// that will go on alike count as one: all that decides what happens next is compared by a digest
/// of 128 bits. Equal arguments give equal reports.
ExploreReport explore(const ExploreBounds& bounds,
                      const ExploredPolicy& policy,
                      const ExploreOptions& options = {});

/// Whether states that count as one do go on alike: as `explore`, but each time that a state is
/// come to once more, the digests of all that may follow are compared with those of its first time.
/// Where none differs, what was left out leads nowhere else. The text of the first difference with
/// both ways; empty where there is none.
std::string first_unlike(const ExploreBounds& bounds, const ExploredPolicy& policy);

}  // namespace orrery::sim
