// Processes that follow one another in a regular way, as one: what tables of placements show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/placement/plan.hpp"

namespace orrery::cli {

/// Consecutive ranks on one node, or the same on each of consecutive nodes.
struct PlacedRun {
  std::int32_t first_rank = 0;
  std::int32_t last_rank = 0;
  std::int32_t first_node = 0;
  std::int32_t last_node = 0;
  std::int32_t group = 0;             ///< Of the component.
  std::int32_t first_local_rank = 0;  ///< Local ranks rise with the ranks of one node.
  std::int32_t last_local_rank = 0;
  std::int32_t local_world_size = 0;
  std::int32_t sharers = 1;                 ///< Processes on each set of devices.
  std::vector<std::int32_t> first_devices;  ///< Of the first process on a node.
  std::vector<std::int32_t> last_devices;   ///< Of its last one; between them in equal steps.
  std::vector<std::int32_t> visible;        ///< Where it is not each process' own devices.
  bool sees_own = false;                    ///< Each process sees its own devices and no other.

  friend bool operator==(const PlacedRun&, const PlacedRun&) = default;
};

/// Every process of the component is in exactly one run; runs are in rank order.
std::vector<PlacedRun> placed_runs(const placement::ComponentPlan& component,
                                   const placement::Inventory& inventory,
                                   bool isolate);

/// "0-3,5" for 0, 1, 2, 3, 5; "-" for nothing.
std::string range_text(const std::vector<std::int32_t>& values);

/// "3" or "3-7".
std::string range_text(std::int32_t first, std::int32_t last);

}  // namespace orrery::cli
