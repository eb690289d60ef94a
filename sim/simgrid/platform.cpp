#include "sim/simgrid/platform.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"
#include "sim/simgrid/platform_file.hpp"

namespace orrery::sim {

namespace s4u = simgrid::s4u;
using PlatformTopology = scenarios::NetworkTopology;

Result<Platform> Platform::make(SimGridEngine& engine,
                                const scenarios::NetworkSpec& network,
                                std::int64_t nodes) {
  if (Errors errors = check_network(network, nodes); !errors.empty()) return errors;
  Platform platform;
  platform.network_ = network;
  switch (network.topology) {
    case PlatformTopology::Star:
      platform.build_star(engine, static_cast<std::size_t>(nodes));
      break;
    case PlatformTopology::FatTree:
      platform.build_fat_tree(engine, static_cast<std::size_t>(nodes));
      break;
    case PlatformTopology::Torus:
      platform.build_torus(engine);
      break;
    case PlatformTopology::Dragonfly:
      platform.build_dragonfly(engine);
      break;
    case PlatformTopology::Platform: {
      Result<PlatformHosts> hosts = load_platform_file(engine, network.platform);
      if (!hosts) return hosts.errors();
      platform.hosts_ = std::move(hosts->nodes);
      platform.storage_ = hosts->storage;
      platform.flops_known_ = true;
      break;
    }
  }
  if (network.topology != PlatformTopology::Platform) {
    simgrid::s4u::NetZone* world = engine.simgrid().get_netzone_root();
    platform.wire_.emplace(world);
    world->seal();
  }
  platform.number_links(engine);
  return platform;
}

void Platform::number_links(SimGridEngine& engine) {
  links_ = engine.simgrid().get_all_links();
  for (std::size_t i = 0; i < links_.size(); ++i)
    links_[i]->set_data(reinterpret_cast<void*>(i + 1));
}

void Platform::find_route(NodeId from, NodeId to, Route& route) const {
  static thread_local std::vector<s4u::Link*> links;
  links.clear();
  route.links.clear();
  route.latency = 0;
  host(from)->route_to(host(to), links, &route.latency);
  for (const s4u::Link* link : links) {
    const auto index = reinterpret_cast<std::uintptr_t>(link->get_data<void>());
    invariant(index > 0, "every link on a route is one of the platform");
    route.links.push_back(static_cast<std::uint32_t>(index - 1));
  }
}

std::vector<std::uint32_t> Platform::links_at(NodeId node) const {
  std::vector<std::uint32_t> out;
  Route route;
  const auto look_at = [&](NodeId other) {
    if (other == node) return;
    find_route(node, other, route);
    if (!route.links.empty()) out.push_back(route.links.front());
    find_route(other, node, route);
    if (!route.links.empty()) out.push_back(route.links.back());
  };
  if (network_.topology == PlatformTopology::Torus) {
    // A link for each neighbour, both ways along each axis.
    std::size_t stride = 1;
    for (const std::int32_t axis : network_.torus) {
      const std::size_t length = static_cast<std::size_t>(axis);
      const std::size_t place = node.index() / stride % length;
      const std::size_t base = node.index() - place * stride;
      for (const std::size_t step : {std::size_t{1}, length - 1})
        look_at(NodeId(static_cast<std::uint32_t>(base + (place + step) % length * stride)));
      stride *= length;
    }
  } else {
    look_at(NodeId(static_cast<std::uint32_t>((node.index() + 1) % hosts_.size())));
    if (hosts_.size() == 1 && has_storage()) look_at(NodeId::none());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> Platform::approximations() const {
  std::vector<std::string> out;
  const bool routed_inside = network_.topology == PlatformTopology::Torus ||
                             network_.topology == PlatformTopology::Dragonfly;
  if (routed_inside && has_storage())
    out.push_back(
        "Transfers from and to the storage take the storage's link alone, each at most as fast as "
        "one link of a node, and do not load the links between the nodes.");
  if (network_.topology == PlatformTopology::FatTree)
    out.push_back(
        "The spine that a transfer crosses is that of its destination (d-mod-k routing), always "
        "the same; real networks spread over all of them.");
  return out;
}

}  // namespace orrery::sim
