#include "core/placement/placement_error.hpp"

#include <algorithm>

namespace orrery::placement {

std::string PlacementError::message() const {
  return subject + ": found " + found + ", needed " + needed + "; " + remedy;
}

void sort_by_stage(PlacementErrors& errors) {
  std::stable_sort(
      errors.begin(), errors.end(), [](const PlacementError& a, const PlacementError& b) {
        return a.stage < b.stage;
      });
}

}  // namespace orrery::placement
