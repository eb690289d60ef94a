// Faults of one thing that last and may overlap.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// Faults of one kind, each with a factor and for a time of its own. Time does not go back.
class LastingFaults {
 public:
  /// Has ended at `until`, which may be never.
  void add(double factor, Instant until) { faults_.emplace_back(until, factor); }

  /// The largest factor, and the smallest, of those that have not ended at `now`; 1 where none has
  /// a larger, or smaller, one.
  double largest(Instant now) {
    forget(now);
    double out = 1;
    for (const auto& [until, factor] : faults_) out = std::max(out, factor);
    return out;
  }

  double smallest(Instant now) {
    forget(now);
    double out = 1;
    for (const auto& [until, factor] : faults_) out = std::min(out, factor);
    return out;
  }

  void clear() { faults_.clear(); }

 private:
  void forget(Instant now) {
    std::erase_if(faults_, [&](const auto& fault) { return fault.first <= now; });
  }

  std::vector<std::pair<Instant, double>> faults_;
};

}  // namespace orrery::sim
