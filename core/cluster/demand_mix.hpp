// What the live jobs ask for: the mix of demands that a placer may score fragmentation by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster/free_index.hpp"

namespace orrery {

/// Demands with the number of jobs that have them, in one order whatever the order of counting.
class DemandMix {
 public:
  struct Entry {
    Demand demand;
    std::int64_t jobs = 0;  ///< At least 1.
  };

  void add(const Demand& demand);

  /// Takes back one `add` of the same demand.
  void remove(const Demand& demand);

  std::span<const Entry> entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;  ///< Ascending by demand.
};

}  // namespace orrery
