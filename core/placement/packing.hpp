// Processes packed onto consecutive resources, each taking some at a stride (rule S1); the modes of
// model-parallel placements are made of it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/placement/assignment.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {

/// Every process takes the lowest free resource and more of them at a distance of `stride`.
struct Packing {
  RankRange resources;
  std::int64_t per_process = 1;  ///< 1 to 2^31.
  std::int64_t stride = 1;       ///< 1 to 2^31.

  /// Whether processes use all resources up.
  bool divides() const { return resources.count() % (per_process * stride) == 0; }
};

/// Adds the processes of a packing that divides and whose resources exist; nothing, or what is
/// wrong with the first faulty process.
std::optional<ProcessFault> add_packed(Assignment& assignment, const Packing& packing);

}  // namespace orrery::placement
