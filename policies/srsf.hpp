// Shortest remaining service first, preemptive.
#pragma once

#include "policies/shortest_remaining.hpp"

namespace orrery::policies {

/// What a job has left is its remaining time times the devices of its minimum (Gu et al., NSDI
/// 2019, compare with it): a short job of many devices stands behind a longer one of few.
class Srsf : public ShortestRemaining {
 public:
  Srsf() : ShortestRemaining(Measure::Service) {}

  std::string_view name() const override { return "srsf/1"; }
};

}  // namespace orrery::policies
