// Clusters of a regular shape through SimGrid's C++ interface.
#include <algorithm>
#include <cmath>

#include "sim/fabric/topology.hpp"
#include "sim/simgrid/platform.hpp"

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;
using scenarios::NetworkSpec;
using ShapeTopology = scenarios::NetworkTopology;

// Flops of hosts without computations.
constexpr double kAnyFlops = 1e9;

Error refusal(const std::string& subject, const std::string& message) {
  return {ErrorCode::InvalidInput, {}, 0, "cluster.network." + subject, message};
}

std::int64_t spines_of(const NetworkSpec& network) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(network.nodes_per_leaf / network.oversubscription));
}

void check_size(const std::string& subject,
                std::int64_t holds,
                std::int64_t nodes,
                Errors& errors) {
  if (holds != nodes)
    errors.push_back(refusal(subject,
                             "the shape holds " + std::to_string(holds) +
                                 " nodes, the cluster has " + std::to_string(nodes) +
                                 "; make them equal"));
}

void check_torus(const NetworkSpec& network, std::int64_t nodes, Errors& errors) {
  if (network.torus.empty() || network.torus.size() > 4) {
    errors.push_back(refusal("torus",
                             std::to_string(network.torus.size()) +
                                 " axes, needed are 1 to 4; list the nodes along each"));
    return;
  }
  std::int64_t holds = 1;
  for (const std::int32_t axis : network.torus) {
    if (axis < 1) {
      errors.push_back(refusal("torus",
                               "an axis of " + std::to_string(axis) +
                                   " nodes, needed is at least 1; give each axis a length"));
      return;
    }
    holds *= axis;
  }
  check_size("torus", holds, nodes, errors);
}

void check_dragonfly(const NetworkSpec& network, std::int64_t nodes, Errors& errors) {
  const scenarios::DragonflyShape& shape = network.dragonfly;
  if (std::min({shape.groups, shape.chassis, shape.routers, shape.nodes_per_router}) < 1) {
    errors.push_back(
        refusal("dragonfly", "a part of 0 or fewer, needed is at least 1 of each; raise it"));
    return;
  }
  if (shape.groups > shape.routers)
    errors.push_back(refusal("dragonfly",
                             std::to_string(shape.groups) + " groups of chassis of " +
                                 std::to_string(shape.routers) +
                                 " routers, needed are at most as many groups as routers, since "
                                 "SimGrid cannot route otherwise; have fewer groups or larger "
                                 "chassis"));
  check_size("dragonfly",
             std::int64_t{shape.groups} * shape.chassis * shape.routers * shape.nodes_per_router,
             nodes,
             errors);
}

void check_bandwidth(const std::string& subject, double value, Errors& errors) {
  if (!(value > 0) || std::isinf(value))
    errors.push_back(
        refusal(subject, std::to_string(value) + " bytes per second, needed is more than 0"));
}

}  // namespace

Errors check_network(const NetworkSpec& network, std::int64_t nodes) {
  Errors errors;
  if (network.topology == ShapeTopology::Platform) return errors;
  if (nodes < 1) errors.push_back(refusal("topology", "no nodes, needed is at least 1"));
  check_bandwidth("nic_bandwidth", network.nic_bandwidth, errors);
  check_bandwidth("link_bandwidth", network.link_bandwidth, errors);
  if (network.latency.ns < 0)
    errors.push_back(refusal("latency", "less than 0, needed is 0 or more"));
  switch (network.topology) {
    case ShapeTopology::FatTree:
      if (network.nodes_per_leaf < 1)
        errors.push_back(refusal("nodes_per_leaf",
                                 std::to_string(network.nodes_per_leaf) +
                                     ", needed is at least 1; say how many nodes share a switch"));
      if (!(network.oversubscription >= 1))
        errors.push_back(refusal("oversubscription", "less than 1, needed is 1 or more"));
      break;
    case ShapeTopology::Torus:
      check_torus(network, nodes, errors);
      break;
    case ShapeTopology::Dragonfly:
      check_dragonfly(network, nodes, errors);
      break;
    case ShapeTopology::Star:
    case ShapeTopology::Platform:
      break;
  }
  return errors;
}

s4u::Host* Platform::add_node(s4u::NetZone* zone, std::size_t nodes) {
  // Places beyond the nodes are empty: a regular shape has no holes.
  if (hosts_.size() >= nodes)
    return shim::add_host(zone, "empty" + std::to_string(zone->get_host_count()), kAnyFlops);
  hosts_.push_back(shim::add_host(zone, "node" + std::to_string(hosts_.size()), kAnyFlops));
  return hosts_.back();
}

void Platform::build_star(SimGridEngine& engine, std::size_t nodes) {
  s4u::NetZone* world = shim::outermost_zone(engine.simgrid(), "world");
  s4u::NetZone* zone = shim::star_zone(world, "cluster");
  const auto join = [&](s4u::Host* host, double bandwidth) {
    for (const bool up : {true, false}) {
      s4u::Link* link = shim::add_link(zone, host->get_name() + (up ? "_up" : "_down"), bandwidth);
      link->set_latency(network_.latency.in_seconds());
      shim::join_star(zone, host, link, up);
    }
  };
  for (std::size_t i = 0; i < nodes; ++i) join(add_node(zone, nodes), network_.nic_bandwidth);
  storage_ = shim::add_host(zone, "storage", kAnyFlops);
  join(storage_, storage_link_bandwidth(network_));
  zone->seal();
}

void Platform::build_fat_tree(SimGridEngine& engine, std::size_t nodes) {
  const auto per_leaf = static_cast<std::size_t>(network_.nodes_per_leaf);
  const auto spines = static_cast<unsigned>(spines_of(network_));
  const std::size_t node_leaves = (nodes + per_leaf - 1) / per_leaf;
  // The storage has a leaf switch of its own, after those of the nodes.
  const std::size_t leaves = node_leaves + 1;
  std::size_t place = 0;
  const auto make = [&](s4u::NetZone* zone) {
    if (place++ == node_leaves * per_leaf)
      return storage_ = shim::add_host(zone, "storage", kAnyFlops);
    return add_node(zone, nodes);
  };
  s4u::NetZone* world = shim::outermost_zone(engine.simgrid(), "world");
  shim::fat_tree_zone(world,
                      "cluster",
                      {static_cast<unsigned>(per_leaf), static_cast<unsigned>(leaves), spines},
                      make,
                      {network_.link_bandwidth, network_.latency.in_seconds()})
      ->seal();
  // All levels were built alike; what joins a host to its leaf is as fast as the host.
  for (std::size_t i = 0; i < nodes && nodes > 1; ++i)
    set_node_bandwidth(hosts_[i], hosts_[(i + 1) % nodes], network_.nic_bandwidth);
  widen_storage_leaf(spines);
}

void Platform::build_torus(SimGridEngine& engine) {
  // Along an axis of one node SimGrid would join it with itself, twice under one name.
  std::vector<unsigned long> axes;
  std::size_t nodes = 1;
  for (const std::int32_t length : network_.torus) {
    if (length > 1) axes.push_back(static_cast<unsigned long>(length));
    nodes *= static_cast<std::size_t>(length);
  }
  if (axes.empty()) axes.push_back(1);
  s4u::NetZone* world = shim::outermost_zone(engine.simgrid(), "world");
  s4u::NetZone* zone =
      shim::torus_zone(world,
                       "cluster",
                       axes,
                       [&](s4u::NetZone* inside) { return add_node(inside, nodes); },
                       {network_.link_bandwidth, network_.latency.in_seconds()});
  add_storage_beside(world, zone, network_.link_bandwidth);
}

void Platform::build_dragonfly(SimGridEngine& engine) {
  const scenarios::DragonflyShape& shape = network_.dragonfly;
  const auto count = [](std::int32_t n) { return static_cast<unsigned>(n); };
  const std::size_t nodes = std::size_t{count(shape.groups)} * count(shape.chassis) *
                            count(shape.routers) * count(shape.nodes_per_router);
  s4u::NetZone* world = shim::outermost_zone(engine.simgrid(), "world");
  s4u::NetZone* zone =
      shim::dragonfly_zone(world,
                           "cluster",
                           {count(shape.groups),
                            count(shape.chassis),
                            count(shape.routers),
                            count(shape.nodes_per_router)},
                           [&](s4u::NetZone* inside) { return add_node(inside, nodes); },
                           {network_.link_bandwidth, network_.latency.in_seconds()});
  add_storage_beside(world, zone, network_.nic_bandwidth);
  for (std::size_t i = 0; i < nodes && nodes > 1; ++i)
    set_node_bandwidth(hosts_[i], hosts_[(i + 1) % nodes], network_.nic_bandwidth);
}

void Platform::add_storage_beside(s4u::NetZone* world, s4u::NetZone* cluster, double rate_max) {
  auto* gateway = cluster->create_router("gateway");
  cluster->seal();
  s4u::NetZone* beside = shim::star_zone(world, "beside");
  storage_ = shim::add_host(beside, "storage", kAnyFlops);
  beside->seal();
  s4u::Link* ways[2];
  for (const bool to : {true, false}) {
    ways[to] =
        shim::add_link(world, to ? "storage_down" : "storage_up", storage_link_bandwidth(network_));
    ways[to]->set_latency(network_.latency.in_seconds());
  }
  shim::join_zones(
      world, cluster, gateway, beside, storage_->get_netpoint(), ways[true], ways[false]);
  storage_rate_max_ = rate_max;
}

void Platform::set_node_bandwidth(s4u::Host* host, s4u::Host* other, double bandwidth) {
  std::vector<s4u::Link*> way;
  double latency = 0;
  host->route_to(other, way, &latency);
  way.front()->set_bandwidth(bandwidth);
  way.clear();
  other->route_to(host, way, &latency);
  way.back()->set_bandwidth(bandwidth);
}

// The storage is as fast as it is said to be, if it is; its leaf switch and what lies beyond never
// hold it up.
void Platform::widen_storage_leaf(std::size_t spines) {
  std::vector<s4u::Link*> way;
  double latency = 0;
  const double bandwidth = storage_link_bandwidth(network_);
  set_node_bandwidth(storage_, hosts_.front(), bandwidth);
  hosts_.front()->route_to(storage_, way, &latency);
  way[way.size() - 2]->set_bandwidth(bandwidth);
  // The destination's number decides on the spine: so many nodes meet each that is in use.
  for (std::size_t i = 0; i < std::min(spines, hosts_.size()); ++i) {
    way.clear();
    storage_->route_to(hosts_[i], way, &latency);
    way[1]->set_bandwidth(bandwidth);
  }
}

}  // namespace orrery::sim
