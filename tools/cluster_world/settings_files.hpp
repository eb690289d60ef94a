// Settings of the daemons of one scenario: a controller, and an agent for each of its nodes.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/port_range.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::cli {

/// Where the daemons of one run find each other.
struct ClusterAddresses {
  std::string folder;          ///< Absolute; all files of the run.
  std::string http_address;    ///< Of the controller: "unix:PATH" or "127.0.0.1:PORT".
  std::string agents_address;  ///< Of the controller: "unix:PATH" or "HOST:PORT".
  std::string journal;         ///< The controller's, absolute.
  std::string certificates;    ///< Folder (run_certificates.hpp) for mutual TLS; empty: none.
  PortRange ports;             ///< At which workers listen, divided among the nodes.

  /// A certificate by the stem of its files.
  std::string certificate(const std::string& stem) const { return certificates + "/" + stem; }
};

/// What an agent has that others need not have.
struct AgentSettings {
  NodeId node;
  std::string address;         ///< At which other nodes reach its workers.
  Duration preemption_notice;  ///< Zero: the agent's own default.
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
                           const AgentSettings& settings,
                           const ClusterAddresses& addresses);

}  // namespace orrery::cli
