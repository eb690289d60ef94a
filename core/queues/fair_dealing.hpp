// Dealing what there is among those that ask, fairly: weighted max-min by dominant share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

/// Kinds of resources that are dealt together: devices, cores, memory.
inline constexpr std::size_t kQueueResources = 3;

/// Shapes of claims are in millionths.
inline constexpr std::int64_t kShapeUnit = 1'000'000;

/// An amount of each, all in the same unit: a part of what the cluster has of it (see QueueScale).
using QueueVector = std::array<std::int64_t, kQueueResources>;

/// One that asks. All amounts are of its dominant resource, the one of which it takes the largest
/// part.
struct ShareClaim {
  std::int64_t weight = 1;        ///< At least 0, at most 10^10; 0: gets what no other asks for.
  std::int32_t priority = 0;      ///< Class: the highest has its fill first.
  std::int64_t guaranteed = 0;    ///< Given before all else; 0 to `most`.
  std::int64_t ahead = 0;         ///< The least that it gets after all guarantees; 0 to `most`.
  std::int64_t most = 0;          ///< All that it asks for; at most 10^13.
  QueueVector shape{kShapeUnit};  ///< What it takes of each resource for a million; the dominant
                                  ///< one is a million.
};

/// How much each gets. First what is guaranteed (where that is more than there is, in proportion to
/// the guarantees), then `ahead`, then the rest by weight, class by class: every unit goes to the
/// one whose gain over its weight is the least then, the first of equals, unless it has all that it
/// asks for or a resource that it takes is used up. What one has gained ahead counts as its gain:
/// it gets more only once the others have as much by weight. So the levels are max-min fair, and
/// where one resource is asked for, all of it is dealt or all claims are met, to the unit.
///
/// `available`: of each resource, at least 0. Costs O(claims^2 + claims x log amount) at most.
/// Source: A. Ghodsi et al., *Dominant Resource Fairness*, NSDI 2011, with weights, guarantees and
/// classes.
std::vector<std::int64_t> deal_shares(std::span<const ShareClaim> claims,
                                      const QueueVector& available);

}  // namespace orrery
