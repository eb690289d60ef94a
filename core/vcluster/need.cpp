#include "core/vcluster/need.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/invariant.hpp"

namespace orrery::vcluster {
namespace {

// -1 becomes the largest: nodes of which nothing is declared stand last.
auto topology_key(const Room& room) {
  return std::tuple(static_cast<std::uint32_t>(room.nvlink_domain),
                    static_cast<std::uint32_t>(room.rack),
                    room.node);
}

bool topology_less(const Room& a, const Room& b) { return topology_key(a) < topology_key(b); }

void find_pieces(Need& need) {
  if (need.is_strict_pack()) {
    need.alike = true;
    need.piece = need.bundles;
    need.pieces = 1;
  } else if (need.spec->unified) {
    need.alike = true;  // Its segments have equally many bundles (check_virtual_cluster).
    need.piece = 1;
    need.pieces = need.bundles;
  } else {
    const std::int32_t first = need.logical_nodes.front();
    need.alike = std::all_of(need.logical_nodes.begin(),
                             need.logical_nodes.end(),
                             [&](std::int32_t n) { return n == first; });
    need.piece = first;
    need.pieces = static_cast<std::int32_t>(need.logical_nodes.size());
  }
}

}  // namespace

std::vector<Room> make_rooms(std::span<const NodeOffer> offers, Capacity capacity) {
  std::vector<Room> rooms;
  rooms.reserve(offers.size());
  const bool total = capacity == Capacity::Total;
  for (const NodeOffer& offer : offers) {
    if (!total && !offer.usable) continue;
    const std::uint64_t mask = total ? offer.all_devices : offer.free_devices;
    rooms.push_back({offer.node,
                     offer.model,
                     std::popcount(mask),
                     total ? offer.cpu_total.count : offer.cpu_free.count,
                     total ? offer.memory_total.count : offer.memory_free.count,
                     mask,
                     offer.nvlink_domain,
                     offer.rack});
  }
  if (!std::is_sorted(rooms.begin(), rooms.end(), topology_less))
    std::sort(rooms.begin(), rooms.end(), topology_less);
  return rooms;
}

Need make_need(const BundleRequest& request) {
  const VirtualClusterSpec& spec = *request.spec;
  Need need;
  need.spec = &spec;
  need.model = request.model;
  need.devices = spec.devices_per_bundle;
  need.cpu = times(spec.cpu_per_bundle.count, spec.max_worker_groups);
  need.memory = times(spec.memory_per_bundle.count, spec.max_worker_groups);
  for (const std::int32_t bundles : spec.bundles_per_node) {
    if (bundles == 0) continue;
    need.logical_nodes.push_back(bundles);
    need.bundles += bundles;
  }
  const auto nodes = static_cast<std::int32_t>(need.logical_nodes.size());
  invariant(nodes > 0, "a virtual cluster has at least one bundle");
  const bool cut = need.is_segmented() && spec.segment_size > 0;
  need.segment_nodes = cut ? spec.segment_size : nodes;
  need.segments = nodes / need.segment_nodes;
  invariant(need.segments * need.segment_nodes == nodes, "logical nodes divide into segments");
  find_pieces(need);
  return need;
}

std::vector<DeviceModelId> models_for(const Need& need, std::span<const Room> rooms) {
  if (need.devices == 0 || !need.model.is_none()) return {need.model};

  // Most clusters have one model, which then needs no counting.
  const auto has_devices = [](const Room& room) { return room.devices > 0; };
  const auto first = std::find_if(rooms.begin(), rooms.end(), has_devices);
  if (first == rooms.end()) return {};
  const bool only = std::none_of(first, rooms.end(), [&](const Room& room) {
    return room.devices > 0 && room.model != first->model;
  });
  if (only) return {first->model};

  struct Stock {
    std::int64_t bundles;
    DeviceModelId model;
  };

  std::vector<Stock> stocks;
  for (const Room& room : rooms) {
    if (room.devices < need.devices || need.zone(room) < 0) continue;
    auto stock = std::find_if(
        stocks.begin(), stocks.end(), [&](const Stock& s) { return s.model == room.model; });
    if (stock == stocks.end()) stock = stocks.insert(stocks.end(), {0, room.model});
    stock->bundles += need.fit(room);
  }
  std::sort(stocks.begin(), stocks.end(), [](const Stock& a, const Stock& b) {
    return std::tuple(a.bundles, a.model) < std::tuple(b.bundles, b.model);
  });
  std::vector<DeviceModelId> models;
  for (const Stock& stock : stocks)
    if (stock.bundles >= need.bundles) models.push_back(stock.model);
  return models;
}

}  // namespace orrery::vcluster
