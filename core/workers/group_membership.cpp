#include "core/workers/group_membership.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/vcluster/seats.hpp"
#include "core/workers/worker_group.hpp"

namespace orrery::workers {
namespace {

using vcluster::WorkerSeat;

std::vector<WorkerSeat> seats_of(const FormedGroup& group) {
  return vcluster::worker_seats(*group.cluster, *group.group, group.places);
}

/// Bundles of the tied group that the worker leads, as the group's specification numbers them.
std::vector<std::int32_t> bundles_of(const FormedGroup& group,
                                     const WorkerSeat& seat,
                                     std::int32_t rank) {
  if (!seat.leader) return {};
  if (!group.group->tied.empty())
    return group.group->tied[static_cast<std::size_t>(seat.tied_group)].bundles;
  // A unified virtual cluster numbers its bundles through, in rank order.
  return {group.cluster->unified ? rank : seat.bundle};
}

std::string name_of(const FormedGroup& group,
                    const WorkerSeat& seat,
                    std::int32_t rank,
                    std::int32_t local) {
  const bool is_tied = !group.group->tied.empty();
  if (is_tied && group.group->tied[static_cast<std::size_t>(seat.tied_group)].bundles.size() > 1)
    return group.prefix + "-grp" + std::to_string(seat.tied_group) + "-" + std::to_string(local);
  if (is_tied) {
    const TiedBundles& tied = group.group->tied[static_cast<std::size_t>(seat.tied_group)];
    return group.prefix + "-" + std::to_string(tied.node) + "-" +
           std::to_string(tied.bundles.front());
  }
  if (group.cluster->unified) return group.prefix + "-0-" + std::to_string(rank);
  return group.prefix + "-" + std::to_string(seat.logical_node) + "-" + std::to_string(seat.bundle);
}

/// Devices that the worker sees: a leader's are those of everybody tied to it, on its node. Tied
/// workers stand one after the other.
std::uint64_t shown_to(std::span<const WorkerSeat> seats, std::size_t rank) {
  const WorkerSeat& own = seats[rank];
  std::uint64_t out = own.seat.devices;
  if (!own.leader) return out;
  for (; rank < seats.size() && seats[rank].tied_group == own.tied_group; ++rank)
    if (seats[rank].seat.node == own.seat.node) out |= seats[rank].seat.devices;
  return out;
}

DeviceView view_of(std::uint64_t own, std::uint64_t shown, std::int32_t on_node) {
  if (own == shown) return device_view(own, on_node, Sight::Own);
  return device_view(bit_numbers(own), Sight::Engine, bit_numbers(shown), on_node);
}

/// Ports of the group's engines in rank order of their leaders.
Result<std::vector<std::int32_t>> engine_ports(const FormedGroup& group,
                                               std::span<const EngineSeat> other_engines) {
  std::vector<EngineSeat> engines(other_engines.begin(), other_engines.end());
  const std::vector<EngineSeat> own = engines_of(group);
  engines.insert(engines.end(), own.begin(), own.end());
  const std::vector<std::int32_t> indexes = engine_indexes(engines);
  std::vector<std::int32_t> out;
  for (std::size_t engine = other_engines.size(); engine < engines.size(); ++engine) {
    const Result<std::int32_t> port = engine_port(indexes[engine]);
    if (!port) return port.errors();
    out.push_back(*port);
  }
  return out;
}

std::vector<PeerPlace> places_by_rank(std::span<const WorkerSeat> seats) {
  std::vector<std::int32_t> nodes;
  nodes.reserve(seats.size());
  for (const WorkerSeat& seat : seats)
    nodes.push_back(static_cast<std::int32_t>(seat.seat.node.value));
  return places_of(nodes);
}

std::shared_ptr<const std::vector<Endpoint>> endpoints_of(const FormedGroup& group,
                                                          std::span<const WorkerSeat> seats,
                                                          std::span<const NodeFacts> nodes) {
  if (group.ports.size() != seats.size()) return nullptr;
  std::vector<Endpoint> out;
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    out.push_back({nodes[seats[rank].seat.node.index()].address, group.ports[rank]});
  return std::make_shared<const std::vector<Endpoint>>(std::move(out));
}

}  // namespace

std::vector<EngineSeat> engines_of(const FormedGroup& group) {
  std::vector<EngineSeat> out;
  if (!group.has_engines) return out;
  for (const WorkerSeat& seat : seats_of(group))
    if (seat.leader) out.push_back({seat.seat.node, std::countr_zero(seat.seat.devices)});
  return out;
}

Result<std::vector<GroupMember>> members_of(const FormedGroup& group,
                                            std::span<const NodeFacts> nodes,
                                            std::span<const EngineSeat> other_engines) {
  const Result<std::vector<std::int32_t>> ports = engine_ports(group, other_engines);
  if (!ports) return ports.errors();
  const std::vector<WorkerSeat> seats = seats_of(group);
  const std::vector<PeerPlace> places = places_by_rank(seats);
  const auto endpoints = endpoints_of(group, seats, nodes);
  std::vector<GroupMember> out;
  std::size_t engine = 0;
  std::int32_t local = 0;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    const WorkerSeat& seat = seats[rank];
    const NodeFacts& node = nodes[seat.seat.node.index()];
    local = seat.leader ? 0 : local + 1;
    Membership member;
    member.role = group.prefix;
    member.role_rank = static_cast<std::int32_t>(rank);
    member.in_role = places[rank];
    member.role_master = {nodes[seats.front().seat.node.index()].address, group.master_port};
    member.cluster_node = static_cast<std::int32_t>(seat.seat.node.value);
    member.vendor = node.vendor;
    member.device_model = node.device_model;
    member.devices = view_of(seat.seat.devices, shown_to(seats, rank), node.devices);
    member.group.prefix = group.prefix;
    member.group.logical_node = seat.logical_node;
    member.group.bundles = bundles_of(group, seat, member.role_rank);
    member.group.endpoints = endpoints;
    if (seat.leader && group.has_engines) member.group.engine_port = (*ports)[engine++];
    out.push_back({name_of(group, seat, member.role_rank, local), std::move(member)});
  }
  return out;
}

}  // namespace orrery::workers
