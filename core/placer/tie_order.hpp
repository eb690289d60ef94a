// The order of nodes that are equally good: one random permutation for each run.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/mixed_bits.hpp"

namespace orrery {

/// Of equally good nodes the one of the least key is taken. The same seed gives the same
/// permutation of the nodes, also where nodes come to it later; no two nodes have the same key.
class TieOrder {
 public:
  explicit TieOrder(std::uint64_t seed) : mixed_seed_(mixed_bits(seed)) {}

  std::uint64_t key(NodeId node) const { return mixed_bits(mixed_seed_ + node.value); }

 private:
  std::uint64_t mixed_seed_;
};

}  // namespace orrery
