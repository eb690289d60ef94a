// The workers of a job by the nodes that they are on.
#pragma once

#include <vector>

#include "sim/steps/cycle.hpp"

namespace orrery::sim {

/// A node with what a set of workers has there.
struct NodeDevices {
  NodeId node;
  std::int32_t devices = 0;  ///< At least 1: a worker without devices counts as one.

  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

/// Nodes in the order of their first member, each once.
std::vector<NodeDevices> nodes_of(const std::vector<GangMember>& gang);

/// Each node once, in order of first appearance, with how often it appears.
std::vector<NodeDevices> count_nodes(const std::vector<NodeId>& nodes);

/// The nodes alone.
std::vector<NodeId> without_counts(const std::vector<NodeDevices>& nodes);

/// Most devices on one node; 0 of none.
std::int32_t densest(const std::vector<NodeDevices>& nodes);

/// The members of one role, in their order.
std::vector<GangMember> members_of(const std::vector<GangMember>& gang, RoleIndex role);

/// Seconds in which `devices` of one node sum `bytes` among themselves in a ring, each over its own
/// link: 2 (g - 1) / g x bytes / bandwidth.
double local_reduce_s(std::int32_t devices, double bytes, double device_bandwidth);

/// Adds an exchange over `members`, or its bytes to an equal one; nothing with fewer than two
/// members, or without bytes.
void add_exchange(Stage& stage, Pattern pattern, std::vector<NodeId> members, double bytes);

}  // namespace orrery::sim
