#include "core/placement/reservation.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace orrery::placement {
namespace {

constexpr std::uint64_t bit(std::int32_t unit) { return std::uint64_t{1} << unit; }

// The group that declares each node, and where a type's pieces begin on it.
class Declared {
 public:
  explicit Declared(std::span<const NodeGroup> groups) : groups_(groups) {
    std::int32_t end = 0;
    for (const NodeGroup& group : groups) ends_.push_back(end += group.count);
  }

  std::int32_t first_piece(std::int32_t node, std::string_view type) const {
    const auto group = std::upper_bound(ends_.begin(), ends_.end(), node) - ends_.begin();
    std::int32_t first = 0;
    for (const HardwareCount& hardware : groups_[static_cast<std::size_t>(group)].hardware) {
      if (hardware.type == type) break;
      first += hardware.count;
    }
    return first;
  }

 private:
  std::span<const NodeGroup> groups_;
  std::vector<std::int32_t> ends_;
};

Seat seat_of(const ComponentPlan& component, const Process& process, const Declared& declared) {
  Seat seat;
  seat.node = NodeId{static_cast<std::uint32_t>(process.node_rank)};
  if (process.kind == ResourceKind::Accelerator)
    for (const std::int32_t device : process.devices) seat.devices |= bit(device);
  if (process.kind != ResourceKind::Custom) return seat;
  const std::int32_t first =
      declared.first_piece(process.node_rank, component.hardware_types[process.group]);
  for (const std::int32_t piece : process.devices) seat.hardware |= bit(first + piece);
  return seat;
}

struct Used {
  std::uint64_t devices = 0;
  std::uint64_t hardware = 0;
};

std::map<NodeId, Used> by_node(std::span<const Seat> seats) {
  std::map<NodeId, Used> used;
  for (const Seat& seat : seats) {
    Used& here = used[seat.node];
    here.devices |= seat.devices;
    here.hardware |= seat.hardware;
  }
  return used;
}

// "0-3 and 6" of a mask.
std::string ranges(std::uint64_t mask) {
  std::vector<std::string> runs;
  for (int first = 0; first < 64; ++first) {
    if ((mask >> first & 1) == 0) continue;
    int last = first;
    while (last + 1 < 64 && (mask >> (last + 1) & 1) != 0) ++last;
    runs.push_back(first == last ? std::to_string(first)
                                 : std::to_string(first) + "-" + std::to_string(last));
    first = last;
  }
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i)
    text += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i];
  return text;
}

}  // namespace

std::vector<Seat> seats_of(const ComponentPlan& component, std::span<const NodeGroup> groups) {
  const Declared declared(groups);
  std::vector<Seat> seats;
  seats.reserve(component.processes.size());
  for (const Process& process : component.processes)
    seats.push_back(seat_of(component, process, declared));
  // Processes that share sit on exactly one resource, the same one.
  const auto place = [](const Seat& s) { return std::tuple(s.node, s.devices, s.hardware); };
  std::map<std::tuple<NodeId, std::uint64_t, std::uint64_t>, std::int32_t> sharers;
  for (const Seat& seat : seats) ++sharers[place(seat)];
  for (Seat& seat : seats)
    if (const std::int32_t count = sharers[place(seat)];
        count > 1 && (seat.devices | seat.hardware) != 0)
      seat.share.thousandths = std::max(1, 1000 / count);
  return seats;
}

std::optional<Overlap> first_overlap(std::span<const Seat> a, std::span<const Seat> b) {
  const std::map<NodeId, Used> used = by_node(a);
  for (const auto& [node, there] : by_node(b)) {
    const auto here = used.find(node);
    if (here == used.end()) continue;
    const Overlap overlap{
        node, here->second.devices & there.devices, here->second.hardware & there.hardware};
    if ((overlap.devices | overlap.hardware) != 0) return overlap;
  }
  return std::nullopt;
}

std::string describe(const Overlap& overlap) {
  std::string text;
  const auto append = [&](std::uint64_t mask, std::string_view one, std::string_view many) {
    if (mask == 0) return;
    if (!text.empty()) text += " and ";
    text += std::string(std::has_single_bit(mask) ? one : many) + " " + ranges(mask);
  };
  append(overlap.devices, "device", "devices");
  append(overlap.hardware, "piece", "pieces");
  return text + " of node " + std::to_string(overlap.node.value);
}

std::int32_t distinct_devices(std::span<const Seat> seats) {
  std::int32_t count = 0;
  for (const auto& [node, used] : by_node(seats)) count += std::popcount(used.devices);
  return count;
}

std::int64_t distinct_thousandths(std::span<const Seat> seats) {
  if (std::ranges::all_of(seats, [](const Seat& seat) { return seat.share.is_whole(); }))
    return std::int64_t{distinct_devices(seats)} * 1000;
  std::map<std::pair<NodeId, int>, std::int32_t> used;
  for (const Seat& seat : seats)
    for (std::uint64_t left = seat.devices; left != 0; left &= left - 1)
      used[{seat.node, std::countr_zero(left)}] += seat.share.thousandths;
  std::int64_t sum = 0;
  for (const auto& [device, thousandths] : used) sum += std::min(thousandths, 1000);
  return sum;
}

}  // namespace orrery::placement
