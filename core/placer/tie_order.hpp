// The order of nodes that are equally good: one random permutation for each run.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"

namespace orrery {

/// Mixes all bits: equal inputs give equal values, different ones different values that look drawn
/// (the output function of splitmix64).
constexpr std::uint64_t mixed_bits(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

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
