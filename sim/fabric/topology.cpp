#include "sim/fabric/topology.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/invariant.hpp"

namespace orrery::sim {
namespace {

constexpr double kNeverABottleneck = 1e18;

}  // namespace

double storage_link_bandwidth(const scenarios::NetworkSpec& spec) {
  return spec.storage_bandwidth > 0 ? spec.storage_bandwidth : kNeverABottleneck;
}

Topology::Topology(const scenarios::NetworkSpec& spec, std::int32_t nodes)
    : kind_(spec.topology), nodes_(nodes), latency_s_(spec.latency.in_seconds()) {
  using Kind = scenarios::NetworkTopology;
  invariant(nodes >= 1, "a network has a node");
  invariant(kind_ != Kind::Platform, "links of a platform file are SimGrid's to know");
  const auto count = static_cast<std::size_t>(nodes);
  switch (kind_) {
    case Kind::Star:
      add_links(2 * count, spec.nic_bandwidth);
      break;
    case Kind::FatTree: {
      per_leaf_ = static_cast<std::uint32_t>(std::max(1, spec.nodes_per_leaf));
      spines_ = static_cast<std::uint32_t>(
          std::max(1.0, std::floor(static_cast<double>(per_leaf_) / spec.oversubscription)));
      add_links(2 * count, spec.nic_bandwidth);
      spine_first_ = static_cast<std::uint32_t>(link_count());
      const std::size_t leaves = (count + per_leaf_ - 1) / per_leaf_;
      storage_place_ = static_cast<std::uint32_t>(leaves * per_leaf_);
      add_links(2 * leaves * spines_, spec.link_bandwidth);
      add_links(2 * spines_, storage_link_bandwidth(spec));
      break;
    }
    case Kind::Torus: {
      std::size_t points = 1;
      for (const std::int32_t length : spec.torus) {
        axes_.push_back(static_cast<std::uint32_t>(length));
        points *= axes_.back();
      }
      invariant(!axes_.empty() && points >= count, "a torus has a point for each node");
      add_links(2 * points * axes_.size(), spec.link_bandwidth);
      storage_rate_max_ = spec.link_bandwidth;
      break;
    }
    case Kind::Dragonfly: {
      groups_ = static_cast<std::uint32_t>(spec.dragonfly.groups);
      chassis_ = static_cast<std::uint32_t>(spec.dragonfly.chassis);
      blades_ = static_cast<std::uint32_t>(spec.dragonfly.routers);
      per_router_ = static_cast<std::uint32_t>(spec.dragonfly.nodes_per_router);
      const std::size_t places = std::size_t{groups_} * chassis_ * blades_ * per_router_;
      invariant(places >= count && groups_ <= blades_, "a dragonfly has a place for each node");
      add_links(2 * places, spec.nic_bandwidth);
      storage_rate_max_ = spec.nic_bandwidth;
      chassis_first_ = static_cast<std::uint32_t>(link_count());
      add_links(std::size_t{groups_} * chassis_ * blades_ * (blades_ - 1), spec.link_bandwidth);
      group_first_ = static_cast<std::uint32_t>(link_count());
      add_links(std::size_t{groups_} * blades_ * chassis_ * (chassis_ - 1), spec.link_bandwidth);
      global_first_ = static_cast<std::uint32_t>(link_count());
      add_links(std::size_t{groups_} * (groups_ - 1), spec.link_bandwidth);
      break;
    }
    case Kind::Platform:
      break;
  }
  storage_first_ = static_cast<std::uint32_t>(link_count());
  add_links(2, storage_link_bandwidth(spec));
}

void Topology::add_links(std::size_t count, double bandwidth) {
  bandwidth_.insert(bandwidth_.end(), count, bandwidth);
}

void Topology::route(NodeId from, NodeId to, std::vector<std::uint32_t>& links) const {
  using Kind = scenarios::NetworkTopology;
  if (from == to) return;
  if (kind_ == Kind::FatTree) {
    fat_tree_route(from, to, links);
  } else if (from.is_none() || to.is_none()) {
    storage_route(from, to, links);
  } else if (kind_ == Kind::Star) {
    links.push_back(node_link(from.value, Up));
    links.push_back(node_link(to.value, Down));
  } else if (kind_ == Kind::Torus) {
    torus_route(from.value, to.value, links);
  } else {
    dragonfly_route(from.value, to.value, links);
  }
}

void Topology::storage_route(NodeId from, NodeId to, std::vector<std::uint32_t>& links) const {
  const bool by_node = kind_ == scenarios::NetworkTopology::Star;
  if (to.is_none()) {
    if (by_node) links.push_back(node_link(from.value, Up));
    links.push_back(storage_first_);
  } else {
    links.push_back(storage_first_ + 1);
    if (by_node) links.push_back(node_link(to.value, Down));
  }
}

void Topology::fat_tree_route(NodeId from, NodeId to, std::vector<std::uint32_t>& links) const {
  const std::uint32_t from_place = from.is_none() ? storage_place_ : from.value;
  const std::uint32_t to_place = to.is_none() ? storage_place_ : to.value;
  links.push_back(from.is_none() ? storage_first_ + 1 : node_link(from.value, Up));
  const std::uint32_t from_leaf = from_place / per_leaf_;
  const std::uint32_t to_leaf = to_place / per_leaf_;
  if (from_leaf != to_leaf) {
    const std::uint32_t spine = to_place % spines_;
    links.push_back(spine_link(from_leaf, spine, Up));
    links.push_back(spine_link(to_leaf, spine, Down));
  }
  links.push_back(to.is_none() ? storage_first_ : node_link(to.value, Down));
}

void Topology::torus_route(std::uint32_t from,
                           std::uint32_t to,
                           std::vector<std::uint32_t>& links) const {
  std::uint32_t at = from;
  std::uint32_t stride = 1;
  for (std::size_t axis = 0; axis < axes_.size(); stride *= axes_[axis], ++axis) {
    const std::uint32_t length = axes_[axis];
    const std::uint32_t half = length / 2;
    const std::uint32_t source = from / stride % length;
    const std::uint32_t target = to / stride % length;
    // SimGrid's own rule, which is not quite the shorter way where the ring is odd.
    const bool ahead = (target > source && target <= source + half) ||
                       (source > half && (source + half) % length >= target);
    for (std::uint32_t place = source; place != target;) {
      if (ahead) {
        links.push_back(torus_link(at, axis, Up));
        at = place + 1 == length ? at - stride * (length - 1) : at + stride;
        place = (place + 1) % length;
      } else {
        at = place == 0 ? at + stride * (length - 1) : at - stride;
        place = (place + length - 1) % length;
        links.push_back(torus_link(at, axis, Down));
      }
    }
  }
}

std::vector<std::uint32_t> Topology::links_of(NodeId node) const {
  if (kind_ != scenarios::NetworkTopology::Torus)
    return {node_link(node.value, Up), node_link(node.value, Down)};
  std::vector<std::uint32_t> links;
  std::uint32_t stride = 1;
  for (std::size_t axis = 0; axis < axes_.size(); stride *= axes_[axis], ++axis) {
    const std::uint32_t length = axes_[axis];
    if (length == 1) continue;
    const std::uint32_t behind = node.value / stride % length == 0
                                     ? node.value + stride * (length - 1)
                                     : node.value - stride;
    for (const std::uint32_t owner : {node.value, behind}) {
      links.push_back(torus_link(owner, axis, Up));
      links.push_back(torus_link(owner, axis, Down));
    }
  }
  return links;
}

std::vector<std::string> Topology::link_names() const {
  std::vector<std::string> names;
  for (std::uint32_t link = 0; link < link_count(); ++link) names.push_back(link_name(link));
  return names;
}

std::string Topology::link_name(std::uint32_t link) const {
  if (link >= storage_first_) return link == storage_first_ ? "storage in" : "storage out";
  const bool up = link % 2 == Up;
  if (kind_ == scenarios::NetworkTopology::Torus) {
    const auto axes = static_cast<std::uint32_t>(axes_.size());
    return "node " + std::to_string(link / 2 / axes) + " axis " + std::to_string(link / 2 % axes) +
           (up ? " ahead" : " back");
  }
  if (kind_ == scenarios::NetworkTopology::Dragonfly && link >= chassis_first_)
    return dragonfly_name(link);
  if (kind_ == scenarios::NetworkTopology::FatTree && link >= spine_first_) {
    const std::uint32_t pair = (link - spine_first_) / 2;
    const std::string leaf = "leaf " + std::to_string(pair / spines_);
    const std::string spine = "spine " + std::to_string(pair % spines_);
    return up ? leaf + " to " + spine : spine + " to " + leaf;
  }
  return "node " + std::to_string(link / 2) + (up ? " up" : " down");
}

}  // namespace orrery::sim
