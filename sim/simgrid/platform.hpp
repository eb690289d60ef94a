// The modelled cluster as SimGrid sees it: a host for each node, one for the storage, and the links
// between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "scenarios/language/spec/network_spec.hpp"
#include "sim/simgrid/engine.hpp"
#include "sim/simgrid/wire.hpp"

namespace orrery::sim {

/// Hosts and links belong to SimGrid and live as long as the process.
class Platform {
 public:
  /// A way through the network.
  struct Route {
    std::vector<std::uint32_t> links;  ///< Indices into `links()`; empty: no link lies between.
    double latency = 0;                ///< Seconds.
  };

  /// Builds the cluster that `network` describes, with `nodes` nodes, at least 1. For
  /// Topology::Platform reads the file, which tells the number of nodes itself. Refuses, with
  /// everything that is wrong, shapes that do not hold that many nodes or that SimGrid cannot
  /// route.
  static Result<Platform> make(SimGridEngine& engine,
                               const scenarios::NetworkSpec& network,
                               std::int64_t nodes);

  std::size_t node_count() const { return hosts_.size(); }

  /// Whether transfers from and to the storage go anywhere. Only a platform file may lack one.
  bool has_storage() const { return storage_ != nullptr; }

  /// The host of a node, or with `NodeId::none()` of the storage, which may be null.
  simgrid::s4u::Host* host(NodeId node) const {
    return node.is_none() ? storage_ : hosts_[node.index()];
  }

  /// Floating point operations per second of a node as a platform file says; 0 where none does.
  double node_flops(NodeId node) const { return flops_known_ ? host(node)->get_speed() : 0; }

  const std::vector<simgrid::s4u::Link*>& links() const { return links_; }

  /// Fills `route` with the way between two different nodes; `NodeId::none()` is the storage.
  void find_route(NodeId from, NodeId to, Route& route) const;

  /// At most so many bytes per second go from or to the storage for one transfer, beside what the
  /// links on its way allow; 0: no such limit. See `approximations`.
  double storage_rate_max() const { return storage_rate_max_; }

  /// For communications over links of the caller's choice; null where a platform file was read,
  /// which cannot be added to.
  Wire* wire() { return wire_ ? &*wire_ : nullptr; }

  /// The links at a node, in order of their indices, each once. Takes some time.
  std::vector<std::uint32_t> links_at(NodeId node) const;

  /// A name for each link, for pictures; in regular shapes as at L1 where there is such a link,
  /// otherwise, and in platform files, SimGrid's.
  std::vector<std::string> link_names() const;

  /// Sentences on what of the network is only approximated.
  std::vector<std::string> approximations() const;

 private:
  Platform() = default;

  void build_star(SimGridEngine& engine, std::size_t nodes);
  void build_fat_tree(SimGridEngine& engine, std::size_t nodes);
  void build_torus(SimGridEngine& engine);
  void build_dragonfly(SimGridEngine& engine);
  simgrid::s4u::Host* add_node(simgrid::s4u::NetZone* zone, std::size_t nodes);
  void add_storage_beside(simgrid::s4u::NetZone* world,
                          simgrid::s4u::NetZone* cluster,
                          double rate_max);
  void widen_storage_leaf(std::size_t spines);
  void set_node_bandwidth(simgrid::s4u::Host* host, simgrid::s4u::Host* other, double bandwidth);
  void number_links(SimGridEngine& engine);

  scenarios::NetworkSpec network_;
  std::vector<simgrid::s4u::Host*> hosts_;  ///< By node.
  simgrid::s4u::Host* storage_ = nullptr;
  std::vector<simgrid::s4u::Link*> links_;  ///< Each carries its index plus 1 as its data.
  std::optional<Wire> wire_;
  double storage_rate_max_ = 0;
  bool flops_known_ = false;
};

/// What is wrong with the network for a cluster of so many nodes; empty where nothing is.
Errors check_network(const scenarios::NetworkSpec& network, std::int64_t nodes);

}  // namespace orrery::sim
