// From bundles per room to bundles with devices, in rank order.

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/invariant.hpp"
#include "core/vcluster/need.hpp"

namespace orrery::vcluster {
namespace {

std::uint64_t low_bits(std::int32_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The lowest run of `count` free devices, or none.
std::uint64_t find_run(std::uint64_t free, std::int32_t count) {
  const std::uint64_t run = low_bits(count);
  for (std::int32_t first = 0; first + count <= 64; ++first)
    if (((free >> first) & run) == run) return run << first;
  return 0;
}

// `count` of `free`, which has as many: the lowest run, else the lowest.
std::uint64_t take_devices(std::uint64_t& free, std::int32_t count) {
  std::uint64_t taken = count > 0 ? find_run(free, count) : 0;
  for (std::uint64_t rest = free; std::popcount(taken) < count; rest &= rest - 1)
    taken |= rest & (~rest + 1);
  free &= ~taken;
  return taken;
}

// Devices of `bundles` bundles, ascending; in one run where there is one.
std::vector<std::uint64_t> choose_devices(Room& room, std::int32_t bundles, std::int32_t each) {
  std::vector<std::uint64_t> out(static_cast<std::size_t>(bundles), 0);
  if (each == 0) return out;
  invariant(std::popcount(room.device_mask) >= bundles * each, "placed bundles have devices");
  std::uint64_t free = take_devices(room.device_mask, bundles * each);
  for (std::uint64_t& mask : out) mask = take_devices(free, each);
  std::sort(out.begin(), out.end(), [](std::uint64_t a, std::uint64_t b) {
    return std::countr_zero(a) < std::countr_zero(b);
  });
  return out;
}

// Bundles of one room together; rooms by what comes first in them.
void sort_portions(const Need& need, std::span<const Room> rooms, std::vector<Portion>& portions) {
  std::sort(portions.begin(), portions.end(), [](const Portion& a, const Portion& b) {
    return std::tuple(a.room, a.logical_node) < std::tuple(b.room, b.logical_node);
  });

  struct Run {
    std::int32_t first;
    std::int32_t zone;
    std::size_t begin;
    std::size_t end;
  };

  std::vector<Run> runs;
  for (std::size_t begin = 0, end = 0; begin < portions.size(); begin = end) {
    while (end < portions.size() && portions[end].room == portions[begin].room) ++end;
    const Portion& head = portions[begin];
    runs.push_back({head.logical_node, need.zone(rooms[head.room]), begin, end});
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tuple(a.first, a.zone, a.begin) < std::tuple(b.first, b.zone, b.begin);
  });
  std::vector<Portion> sorted;
  sorted.reserve(portions.size());
  for (const Run& run : runs)
    sorted.insert(sorted.end(),
                  portions.begin() + static_cast<std::ptrdiff_t>(run.begin),
                  portions.begin() + static_cast<std::ptrdiff_t>(run.end));
  portions = std::move(sorted);
}

}  // namespace

std::vector<BundlePlace> lay_out(const Need& need,
                                 std::span<Room> rooms,
                                 std::vector<Portion> portions) {
  sort_portions(need, rooms, portions);
  std::vector<BundlePlace> out;
  out.reserve(static_cast<std::size_t>(need.bundles));
  std::int32_t nodes = 0;
  for (std::size_t begin = 0, end = 0; begin < portions.size(); begin = end) {
    Room& room = rooms[portions[begin].room];
    std::int32_t bundles = 0;
    for (; end < portions.size() && portions[end].room == portions[begin].room; ++end)
      bundles += portions[end].bundles;
    const auto devices = choose_devices(room, bundles, need.devices);
    std::size_t next = 0;
    for (std::size_t i = begin; i < end; ++i) {
      // A node's portions of a unified virtual cluster are one logical node.
      const auto from = static_cast<std::int32_t>(need.spec->unified ? next : 0);
      for (std::int32_t k = 0; k < portions[i].bundles; ++k)
        out.push_back({room.node,
                       devices[next++],
                       need.spec->unified ? nodes : portions[i].logical_node,
                       from + k});
    }
    ++nodes;
  }
  return out;
}

}  // namespace orrery::vcluster
