// Settings of the daemons of one scenario: a controller, and an agent for each of its nodes.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/port_range.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::cli {

/// Where the daemons of one run find each other.
struct ClusterAddresses {
  std::string folder;        ///< Absolute; all files of the run.
  std::string http_address;  ///< "127.0.0.1:PORT" of the controller.
  PortRange ports;           ///< At which workers listen, divided among the nodes.
};

/// "node-7": the name of a node, which is also its agent's folder for state.
std::string node_name(NodeId node);

/// The scenario's node groups with names for their nodes, and ports of their own for each.
std::vector<NodeGroup> named_groups(const scenarios::Scenario& scenario, PortRange ports);

/// The document for `orrery controller --config`.
std::string controller_document(const scenarios::Scenario& scenario,
                                const std::vector<NodeGroup>& groups,
                                const ClusterAddresses& addresses);

/// That of one node for `orrery agent --config`.
std::string agent_document(const std::vector<NodeGroup>& groups,
                           NodeId node,
                           const ClusterAddresses& addresses);

}  // namespace orrery::cli
