// A network as links and routes, worked out from its description alone. SimGrid's zones of the same
// description have the same links and routes; a test holds the two against each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "scenarios/language/spec/network_spec.hpp"

namespace orrery::sim {

/// Bytes per second of the storage's own links, each way: `storage_bandwidth`, or where that is not
/// said more than all nodes of the largest cluster send together. Finite, as SimGrid needs it.
double storage_link_bandwidth(const scenarios::NetworkSpec& spec);

/// Links of one direction each, and which of them lie between two nodes.
///
/// - Every node has a link up and one down of `nic_bandwidth`; those between switches, and all of a
///   torus (two each way along each axis), have `link_bandwidth`.
/// - Fat-tree: up to the spine that the number of the node at the other end gives, modulo the
///   spines (D-mod-K routing), and down to its leaf; within a leaf past no spine.
/// - Torus: one axis after the other, the shorter way round; half way round goes as in SimGrid.
/// - Dragonfly: the one minimal route by way of the group's router that is joined to the other
///   group, as SimGrid 3.32 has it, a detour of its own included.
/// - Storage: one link in and one out of `storage_bandwidth`. It stands in a star like a node, in a
///   fat-tree behind a leaf switch of its own that is as fast as it; so all that is written goes by
///   one spine. In a torus or dragonfly it stands beside: a transfer uses its link alone, but is no
///   faster than `storage_rate_max`. Without `storage_bandwidth` its links hold nothing up
///   (`storage_link_bandwidth`), and transfers are as fast as the rest of their way.
class Topology {
 public:
  /// Joins `nodes` (at least 1) nodes. The specification is sound: shapes hold all nodes, and it is
  /// no platform file, which only SimGrid reads.
  Topology(const scenarios::NetworkSpec& spec, std::int32_t nodes);

  std::int32_t nodes() const { return nodes_; }

  std::size_t link_count() const { return bandwidth_.size(); }

  /// Bytes per second.
  double bandwidth(std::uint32_t link) const { return bandwidth_[link]; }

  /// Seconds, the same for each link.
  double latency_s() const { return latency_s_; }

  /// Bytes per second that one transfer from or to the storage gets at most; 0: no such limit.
  double storage_rate_max() const { return storage_rate_max_; }

  /// Appends the links from one node to another, in the order in which bytes pass them; nothing
  /// where they are the same. `NodeId::none()` is the storage.
  void route(NodeId from, NodeId to, std::vector<std::uint32_t>& links) const;

  /// Links that are slower when the node's link is: both directions of it; in a torus all that
  /// touch the node.
  std::vector<std::uint32_t> links_of(NodeId node) const;

  /// "node 3 up", "leaf 0 to spine 1", "storage in", ...
  std::string link_name(std::uint32_t link) const;

  /// All of them, in order.
  std::vector<std::string> link_names() const;

 private:
  enum Direction : std::uint32_t { Up = 0, Down = 1 };

  // A router of a dragonfly by its coordinates.
  struct Router {
    std::uint32_t group = 0;
    std::uint32_t chassis = 0;
    std::uint32_t blade = 0;
  };

  void add_links(std::size_t count, double bandwidth);
  void storage_route(NodeId from, NodeId to, std::vector<std::uint32_t>& links) const;
  void fat_tree_route(NodeId from, NodeId to, std::vector<std::uint32_t>& links) const;
  void torus_route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  void dragonfly_route(std::uint32_t from,
                       std::uint32_t to,
                       std::vector<std::uint32_t>& links) const;

  std::uint32_t node_link(std::uint32_t node, Direction direction) const {
    return node * 2 + direction;
  }

  std::uint32_t spine_link(std::uint32_t leaf, std::uint32_t spine, Direction direction) const {
    return spine_first_ + (leaf * spines_ + spine) * 2 + direction;
  }

  std::uint32_t torus_link(std::uint32_t node, std::size_t axis, Direction direction) const {
    return static_cast<std::uint32_t>(node * axes_.size() + axis) * 2 + direction;
  }

  Router router_of(std::uint32_t node) const;
  std::uint32_t chassis_link(Router from, std::uint32_t blade) const;
  std::uint32_t group_link(Router from, std::uint32_t chassis) const;
  std::uint32_t global_link(std::uint32_t from_group, std::uint32_t to_group) const;
  std::string dragonfly_name(std::uint32_t link) const;

  scenarios::NetworkTopology kind_;
  std::int32_t nodes_;
  double latency_s_;
  std::vector<double> bandwidth_;
  // Fat-tree.
  std::uint32_t per_leaf_ = 1;
  std::uint32_t spines_ = 1;
  std::uint32_t spine_first_ = 0;
  // Torus.
  std::vector<std::uint32_t> axes_;
  // Dragonfly; links within a chassis, then within a group, then between groups.
  std::uint32_t groups_ = 1;
  std::uint32_t chassis_ = 1;
  std::uint32_t blades_ = 1;
  std::uint32_t per_router_ = 1;
  std::uint32_t chassis_first_ = 0;
  std::uint32_t group_first_ = 0;
  std::uint32_t global_first_ = 0;
  // The storage's link in; the one out follows.
  std::uint32_t storage_first_ = 0;
  std::uint32_t storage_place_ = 0;  // Fat-tree: its number among nodes.
  double storage_rate_max_ = 0;
};

}  // namespace orrery::sim
