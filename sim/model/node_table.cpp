#include "sim/model/node_table.hpp"

namespace orrery::sim {

NodeTable::NodeTable(const scenarios::Scenario& scenario) {
  for (const NodeGroup& group : scenario.groups) {
    ModelNode node;
    if (group.devices > 0)
      node.speed = scenarios::speed_of(scenario.device_models, group.device_model);
    nodes_.insert(nodes_.end(), static_cast<std::size_t>(group.count), node);
    groups_.resize(nodes_.size(), static_cast<std::uint32_t>(models_.size()));
    models_.push_back(group.devices > 0 ? group.device_model : std::string());
    speeds_differ_ = speeds_differ_ || node.speed != 1;
  }
  nodes_.resize(static_cast<std::size_t>(scenario.node_count()));
  groups_.resize(nodes_.size(), static_cast<std::uint32_t>(models_.size()));
  models_.emplace_back();
}

}  // namespace orrery::sim
