// The nodes of a modelled cluster: what state each is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/lasting_faults.hpp"

namespace orrery::sim {

/// One node. Each state that passes carries the instant at which it does.
struct ModelNode {
  bool down = false;
  bool mute = false;  ///< Hears no order, and nothing is heard of its processes.
  double slow = 1;    ///< Of every process here: the worst of `slowdowns`.
  double speed = 1;   ///< Of its devices, by their model.
  std::uint64_t lost_devices = 0;
  Instant up_at;          ///< Down: when it comes back.
  Instant whole_at;       ///< Devices lost: when they work again.
  double link_share = 1;  ///< Of its link's bandwidth that is left: the least of `link_faults`.
  LastingFaults slowdowns;
  LastingFaults link_faults;
};

class NodeTable {
 public:
  explicit NodeTable(const scenarios::Scenario& scenario);

  std::size_t size() const { return nodes_.size(); }

  ModelNode& operator[](NodeId node) { return nodes_[node.index()]; }

  const ModelNode& operator[](NodeId node) const { return nodes_[node.index()]; }

  /// The model of the node's devices; empty where it has none.
  const std::string& device_model(NodeId node) const { return models_[groups_[node.index()]]; }

  /// Whether some node's devices are not as fast as the measured times say.
  bool speeds_differ() const { return speeds_differ_; }

 private:
  std::vector<ModelNode> nodes_;
  std::vector<std::uint32_t> groups_;  // [node] -> place in `models_`.
  std::vector<std::string> models_;    // Of each group of nodes.
  bool speeds_differ_ = false;
};

}  // namespace orrery::sim
