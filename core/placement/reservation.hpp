// From a plan to seats in the device ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster/resources.hpp"
#include "core/cluster/seat.hpp"
#include "core/placement/plan.hpp"

namespace orrery::placement {

/// Seats of a component's processes, in rank order, on the nodes that `groups` declare in the order
/// of their ids. Processes of the component that sit on one device have equal shares of it, rounded
/// down to thousandths. The plan was resolved against `inventory_of(groups)`.
std::vector<Seat> seats_of(const ComponentPlan& component, std::span<const NodeGroup> groups);

/// Where two groups of workers sit on the same devices or hardware of a node.
struct Overlap {
  NodeId node;
  std::uint64_t devices = 0;
  std::uint64_t hardware = 0;
};

/// The overlap on the lowest node; nothing where there is none. O((a + b) log (a + b)).
std::optional<Overlap> first_overlap(std::span<const Seat> a, std::span<const Seat> b);

/// "devices 0-3 and 6 of node 2": what an error says of it.
std::string describe(const Overlap& overlap);

/// Devices under all seats together, each counted once.
std::int32_t distinct_devices(std::span<const Seat> seats);

/// The same in thousandths: parts of one device add up to the whole at most.
std::int64_t distinct_thousandths(std::span<const Seat> seats);

}  // namespace orrery::placement
