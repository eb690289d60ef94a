// A request and the nodes in the terms in which virtual clusters are formed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/vcluster/form.hpp"

namespace orrery::vcluster {

/// `amount` times `count`, at most the largest number there is. Both at least 0, `count` above 0.
inline std::int64_t times(std::int64_t amount, std::int64_t count) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return amount > kMost / count ? kMost : amount * count;
}

/// What one node can give in one trial: what is free, or all of it.
struct Room {
  NodeId node;
  DeviceModelId model;
  std::int32_t devices = 0;        ///< How many; lowered while needs are placed.
  std::int64_t cpu = 0;            ///< Thousandths of a core; lowered while needs are placed.
  std::int64_t memory = 0;         ///< Bytes; lowered while needs are placed.
  std::uint64_t device_mask = 0;   ///< Which; lowered when devices are chosen.
  std::int32_t nvlink_domain = 0;  ///< -1: none declared.
  std::int32_t rack = 0;           ///< -1: none declared.
};

/// What rooms are made of.
enum class Capacity : std::uint8_t {
  Free,  ///< What usable nodes have free.
  Total  ///< What all declared nodes have.
};

/// Rooms by NVLink domain, rack and id; those with none declared last. A room's index is the place
/// of its node in the topology.
std::vector<Room> make_rooms(std::span<const NodeOffer> offers, Capacity capacity);

/// More bundles than a virtual cluster may have.
inline constexpr std::int32_t kFitMax = 1 << 20;

/// One request. A *piece* is what lies on one node together: a logical node, a single bundle of a
/// unified virtual cluster, or everything under strict_pack.
struct Need {
  const VirtualClusterSpec* spec = nullptr;
  DeviceModelId model;       ///< None: any.
  std::int32_t devices = 0;  ///< Per bundle.
  std::int64_t cpu = 0;      ///< Per bundle, for all worker groups that may share it.
  std::int64_t memory = 0;   ///< Per bundle, for all worker groups that may share it.
  std::int32_t bundles = 0;  ///< Of all logical nodes.
  std::vector<std::int32_t> logical_nodes;  ///< Bundles of each, above 0.
  std::int32_t segments = 1;                ///< At least 1; 1 also where none is asked for.
  std::int32_t segment_nodes = 0;           ///< Logical nodes of one segment.
  bool alike = false;                       ///< All pieces are of one size.
  std::int32_t piece = 0;                   ///< Bundles of a piece, where alike.
  std::int32_t pieces = 0;                  ///< Of all segments, where alike.

  bool is_strict_pack() const { return spec->strategy == BundleStrategy::StrictPack; }

  bool is_segmented() const { return spec->segment_by != SegmentBy::None; }

  /// The zone of a room in which a segment must stay; -1: none, 0 where there are no segments.
  std::int32_t zone(const Room& room) const {
    if (spec->segment_by == SegmentBy::NvlinkDomain) return room.nvlink_domain;
    return spec->segment_by == SegmentBy::Rack ? room.rack : 0;
  }

  /// Whether bundles may lie there at all, if the model of their devices is `chosen`.
  bool may_use(const Room& room, DeviceModelId chosen) const {
    return (devices == 0 || room.model == chosen) && zone(room) >= 0;
  }

  /// Bundles that fit, at most `kFitMax`.
  std::int32_t fit(const Room& room) const {
    std::int64_t most = kFitMax;
    if (devices == 1) most = room.devices < most ? room.devices : most;
    if (devices > 1) most = std::min<std::int64_t>(most, room.devices / devices);
    most = at_most(most, room.cpu, cpu);
    return static_cast<std::int32_t>(at_most(most, room.memory, memory));
  }

  /// Takes `count` bundles, which must fit; a negative count gives back.
  void take(Room& room, std::int32_t count) const {
    room.devices -= devices * count;
    room.cpu -= cpu * count;
    room.memory -= memory * count;
  }

 private:
  __extension__ using Wide = __int128;

  // Multiplies before it divides: nearly always there is enough, and divisions are slow.
  static std::int64_t at_most(std::int64_t count, std::int64_t there, std::int64_t each) {
    if (each == 0 || static_cast<Wide>(each) * count <= there) return count;
    return there > 0 ? there / each : 0;
  }
};

Need make_need(const BundleRequest& request);

/// Models that a need may take, the most suitable first: the one named, or those with enough for
/// all bundles, the one with the least first. One `none` where devices do not matter.
std::vector<DeviceModelId> models_for(const Need& need, std::span<const Room> rooms);

/// Bundles of one need in one room.
struct Portion {
  std::uint32_t room = 0;
  std::int32_t logical_node = 0;  ///< Unified: 0.
  std::int32_t bundles = 0;
};

/// Whether there is a way to place needs.
enum class Answer : std::uint8_t {
  Yes,
  No,      ///< There is none.
  Unknown  ///< None was found within the steps allowed.
};

/// Places a need whose pieces are alike and takes the capacity from `rooms`; exact, O(n log n).
/// Appends to `out`, with logical nodes in the order of the topology, or changes nothing.
Answer place_alike(const Need& need, std::span<Room> rooms, std::vector<Portion>& out);

/// Whether counts alone tell that `needs` cannot be placed together; false says nothing.
bool too_much(std::span<const Need* const> needs, std::span<const Room> rooms);

/// Places needs of any kind together, by backtracking over a bounded number of steps; the first
/// way found. Appends to `out[i]` for `needs[i]` and takes the capacity, or changes nothing.
Answer search(std::span<const Need* const> needs,
              std::span<Room> rooms,
              std::span<std::vector<Portion>* const> out);

/// Chooses devices, lowest and contiguous where possible, and puts bundles in rank order.
std::vector<BundlePlace> lay_out(const Need& need,
                                 std::span<Room> rooms,
                                 std::vector<Portion> portions);

/// Why `need` does not fit into `rooms` by itself, in words, the name of its virtual cluster first.
std::string why_not(const Need& need, std::span<const Room> rooms, Capacity capacity);

/// Why `needs` do not fit side by side where each fits by itself.
std::string why_not_together(std::span<const Need> needs,
                             std::span<const Room> rooms,
                             Capacity capacity,
                             Answer answer);

}  // namespace orrery::vcluster
