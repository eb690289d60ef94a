// Failures drawn component by component, at the rates that the training of Llama 3 405B has shown:
// 419 unexpected interruptions of 2,048 nodes of 8 GPUs in 54 days (Grattafiori et al. 2024,
// Table 5).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// What the failure of a component does to a cluster. Which does what is a choice of this project.
enum class ComponentEffect : std::uint8_t {
  DeviceLost,   ///< One device is gone until its node is repaired.
  NodeDown,     ///< The node is down until it is repaired.
  Reboot,       ///< The node is down for ten minutes.
  WorkerCrash,  ///< The workers of the node crash: software.
  WorkerHang,   ///< The workers of the node hang for half an hour.
  LinkCut,      ///< The node cannot be reached for a while.
  Maintenance,  ///< The node announces that it goes down, ten minutes before, for a repair's time.
};

/// One row of the table.
struct Component {
  std::string_view name;
  std::int32_t count = 0;  ///< Of the 419.
  ComponentEffect effect = ComponentEffect::NodeDown;
};

/// Every row.
std::span<const Component> llama3_components();

/// Draws failures on the scenario's nodes, by time: each component as a Poisson process of its own,
/// from a stream of the scenario's seed, on nodes drawn evenly. Repairs are lognormal with median
/// 1 h and sigma 1.15, cut links with median 5 min.
std::vector<scenarios::Fault> draw_component_failures(const scenarios::ComponentRates& rates,
                                                      const scenarios::Scenario& scenario);

}  // namespace orrery::sim
