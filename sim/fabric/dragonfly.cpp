// Links and routes of a dragonfly. Routers of a chassis are joined each to each, as are routers of
// equal number within a group; router n of the first chassis of group m joins router m of group n.
#include <utility>

#include "sim/fabric/topology.hpp"

namespace orrery::sim {
namespace {

// Number of the pair among all pairs of 0 .. count - 1, ordered by their lower and then upper one.
std::uint32_t pair_number(std::uint32_t low, std::uint32_t high, std::uint32_t count) {
  return low * count - low * (low + 1) / 2 + (high - low - 1);
}

// The inverse.
std::pair<std::uint32_t, std::uint32_t> pair_at(std::uint32_t number, std::uint32_t count) {
  std::uint32_t low = 0;
  while (number >= count - low - 1) {
    number -= count - low - 1;
    ++low;
  }
  return {low, low + 1 + number};
}

std::uint32_t pairs_among(std::uint32_t count) { return count * (count - 1) / 2; }

// Two links for each pair: from the lower to the upper one, and back.
std::uint32_t link_between(std::uint32_t from, std::uint32_t to, std::uint32_t count) {
  return from < to ? 2 * pair_number(from, to, count) : 2 * pair_number(to, from, count) + 1;
}

}  // namespace

Topology::Router Topology::router_of(std::uint32_t node) const {
  const std::uint32_t router = node / per_router_;
  return {router / (chassis_ * blades_), router / blades_ % chassis_, router % blades_};
}

std::uint32_t Topology::chassis_link(Router from, std::uint32_t blade) const {
  const std::uint32_t chassis = from.group * chassis_ + from.chassis;
  return chassis_first_ + chassis * 2 * pairs_among(blades_) +
         link_between(from.blade, blade, blades_);
}

std::uint32_t Topology::group_link(Router from, std::uint32_t chassis) const {
  const std::uint32_t row = from.group * blades_ + from.blade;
  return group_first_ + row * 2 * pairs_among(chassis_) +
         link_between(from.chassis, chassis, chassis_);
}

std::uint32_t Topology::global_link(std::uint32_t from_group, std::uint32_t to_group) const {
  return global_first_ + link_between(from_group, to_group, groups_);
}

void Topology::dragonfly_route(std::uint32_t from,
                               std::uint32_t to,
                               std::vector<std::uint32_t>& links) const {
  const Router source = router_of(from);
  const Router target = router_of(to);
  Router at = source;
  links.push_back(node_link(from, Up));
  if (target.group != at.group) {
    if (at.blade != target.group) {
      links.push_back(chassis_link(at, target.group));
      at.blade = target.group;
    }
    if (at.chassis != 0) {
      links.push_back(group_link(at, 0));
      at.chassis = 0;
    }
    links.push_back(global_link(at.group, target.group));
    at = {target.group, 0, source.group};
  }
  if (target.blade != at.blade) {
    links.push_back(chassis_link(at, target.blade));
    // SimGrid 3.32 goes on from the first chassis here, even where it was in another.
    at.chassis = 0;
    at.blade = target.blade;
  }
  if (target.chassis != at.chassis) links.push_back(group_link(at, target.chassis));
  links.push_back(node_link(to, Down));
}

std::string Topology::dragonfly_name(std::uint32_t link) const {
  const auto joined = [](const std::string& where, const std::string& what, auto pair, bool up) {
    if (!up) std::swap(pair.first, pair.second);
    return where + what + std::to_string(pair.first) + " to " + std::to_string(pair.second);
  };
  if (link >= global_first_) {
    const std::uint32_t number = link - global_first_;
    return joined("", "group ", pair_at(number / 2, groups_), number % 2 == 0);
  }
  const bool in_group = link >= group_first_;
  const std::uint32_t number = link - (in_group ? group_first_ : chassis_first_);
  const std::uint32_t ends = in_group ? chassis_ : blades_;
  const std::uint32_t row = number / 2 / pairs_among(ends);
  const auto pair = pair_at(number / 2 % pairs_among(ends), ends);
  const std::uint32_t rows = in_group ? blades_ : chassis_;
  const std::string where = "group " + std::to_string(row / rows) +
                            (in_group ? " router " : " chassis ") + std::to_string(row % rows);
  return joined(where, in_group ? " chassis " : " router ", pair, number % 2 == 0);
}

}  // namespace orrery::sim
