#include "core/placement/inventory.hpp"

#include <algorithm>

namespace orrery::placement {

const InventoryGroup* Inventory::find(std::string_view label) const {
  const auto found = std::find_if(
      groups.begin(), groups.end(), [&](const InventoryGroup& g) { return g.label == label; });
  return found == groups.end() ? nullptr : &*found;
}

bool Inventory::is_unsound(std::string_view label) const {
  return std::find(unsound.begin(), unsound.end(), label) != unsound.end();
}

}  // namespace orrery::placement
