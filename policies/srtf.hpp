// Shortest remaining time first, preemptive.
#pragma once

#include "policies/shortest_remaining.hpp"

namespace orrery::policies {

/// What a job has left is its remaining time, however wide it is.
class Srtf : public ShortestRemaining {
 public:
  Srtf() : ShortestRemaining(Measure::Time) {}

  std::string_view name() const override { return "srtf/1"; }
};

}  // namespace orrery::policies
