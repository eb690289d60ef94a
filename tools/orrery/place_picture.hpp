// A placement plan for people, as a picture of nodes and devices.
#pragma once

#include <cstddef>
#include <string>

#include "core/placement/plan.hpp"

namespace orrery::cli {

/// How a picture may look.
struct PictureStyle {
  bool colour = false;
  std::size_t width_max = 80;  ///< Wide nodes are shown piece by piece.
  bool take_turns = false;     ///< Components that share a device take turns on it.
};

/// One line a node, equal nodes as one; one column a device with the letters of the components
/// that sit on it; custom hardware and processes without devices behind. Then the letters, which
/// components share devices, and how many accelerators are free.
std::string placement_picture(const placement::Plan& plan,
                              const placement::Inventory& inventory,
                              const PictureStyle& style);

}  // namespace orrery::cli
