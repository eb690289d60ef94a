// Reasons in words: what was needed, and the number that falls short of it.

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/amount_text.hpp"
#include "core/vcluster/need.hpp"

namespace orrery::vcluster {
namespace {

std::string number(std::int64_t n) { return std::to_string(n); }

std::string name_of(const Need& need) { return "virtual cluster " + need.spec->name + ": "; }

std::string model_text(const Need& need) {
  return need.model.is_none() ? "" : need.spec->device_model + " ";
}

// "8 free h200 devices, 64 cores and 512 GiB of memory".
std::string amount(const Need& need, std::int64_t bundles, Capacity capacity) {
  const std::string free = capacity == Capacity::Free ? "free " : "";
  std::vector<std::string> parts;
  if (need.devices > 0)
    parts.push_back(counted(bundles * need.devices, free + model_text(need) + "device"));
  if (need.cpu > 0) parts.push_back(cores_text(times(need.cpu, bundles)));
  if (need.memory > 0) parts.push_back(bytes_text(times(need.memory, bundles)) + " of memory");
  return listed(parts);
}

std::string zone_word(const Need& need) {
  return need.spec->segment_by == SegmentBy::Rack ? "rack" : "NVLink domain";
}

std::string node_word(Capacity capacity) {
  return capacity == Capacity::Free ? "usable node" : "declared node";
}

// Before a number. Of what is declared there will never be room for more.
std::string room_for(Capacity capacity) {
  return capacity == Capacity::Free ? "there is room for " : "the declared nodes have room for ";
}

std::int32_t largest_piece(const Need& need) {
  if (need.alike) return need.piece;
  return *std::max_element(need.logical_nodes.begin(), need.logical_nodes.end());
}

// How far the rooms of one model go.
struct Count {
  std::int32_t devices_most = 0;  // On one node.
  std::int64_t of_model = 0;      // Rooms that may be used at all.
  std::int64_t outside = 0;       // Rooms of the model without a declared zone.
  std::int64_t with_devices = 0;  // Enough for one of the largest pieces ...
  std::int64_t with_cores = 0;    // ... also in cores ...
  std::int64_t with_all = 0;      // ... also in memory.
  std::int64_t bundles = 0;       // That fit.
  std::int64_t slots = 0;         // Largest pieces that fit.
  std::int64_t zone_slots = 0;    // In the best zone.
  std::int64_t segments = 0;      // That fit, where pieces are alike.
};

void count_room(const Need& need, const Room& room, std::int32_t piece, Count& count) {
  ++count.of_model;
  count.devices_most = std::max(count.devices_most, room.devices);
  count.bundles += need.fit(room);
  if (room.devices / piece < need.devices) return;
  ++count.with_devices;
  if (room.cpu / piece < need.cpu) return;
  ++count.with_cores;
  if (room.memory / piece < need.memory) return;
  ++count.with_all;
}

std::int64_t slots_of(const Need& need, const Room& room, std::int32_t piece) {
  const std::int64_t slots = need.fit(room) / piece;
  return need.spec->strategy == BundleStrategy::StrictSpread ? std::min<std::int64_t>(slots, 1)
                                                             : slots;
}

void count_zones(const Need& need,
                 std::vector<std::pair<std::int32_t, std::int64_t>>& zones,
                 Count& count) {
  std::sort(zones.begin(), zones.end());
  const std::int64_t each = std::max(1, need.pieces / need.segments);
  for (std::size_t i = 0; i < zones.size();) {
    std::int64_t slots = 0;
    const std::int32_t zone = zones[i].first;
    for (; i < zones.size() && zones[i].first == zone; ++i) slots += zones[i].second;
    count.zone_slots = std::max(count.zone_slots, slots);
    count.segments += slots / each;
  }
}

// Where `any_model`, as if the devices of all models were alike.
Count count_model(const Need& need,
                  std::span<const Room> rooms,
                  DeviceModelId model,
                  bool any_model = false) {
  Count count;
  const std::int32_t piece = largest_piece(need);
  std::vector<std::pair<std::int32_t, std::int64_t>> zones;
  for (const Room& room : rooms) {
    if (need.devices > 0 && !any_model && room.model != model) continue;
    if (need.zone(room) < 0) {
      ++count.outside;
      continue;
    }
    count_room(need, room, piece, count);
    const std::int64_t slots = slots_of(need, room, piece);
    count.slots += slots;
    if (slots > 0) zones.push_back({need.zone(room), slots});
  }
  count_zones(need, zones, count);
  return count;
}

// Of the model named, or of that which goes furthest.
Count count_best(const Need& need, std::span<const Room> rooms) {
  if (need.devices == 0 || !need.model.is_none()) return count_model(need, rooms, need.model);
  std::vector<DeviceModelId> models;
  for (const Room& room : rooms)
    if (room.devices > 0 && std::find(models.begin(), models.end(), room.model) == models.end())
      models.push_back(room.model);
  Count best;
  const auto reach = [](const Count& c) {
    return std::tuple(c.segments, c.slots, c.zone_slots, c.bundles, c.devices_most, c.outside);
  };
  for (const DeviceModelId model : models) {
    const Count count = count_model(need, rooms, model);
    if (reach(count) > reach(best)) best = count;
  }
  return best;
}

// No node can hold even one piece.
std::string no_node(const Need& need, const Count& count, Capacity capacity) {
  const std::string needs = "needs a node with " + amount(need, largest_piece(need), capacity);
  if (count.with_devices == 0)
    return needs + "; the most on one node is " + number(count.devices_most);
  const std::string of =
      need.devices > 0
          ? "; of " + counted(count.with_devices, "node") + " with the devices none has "
          : "; of " + counted(count.with_devices, node_word(capacity)) + " none has ";
  if (count.with_cores == 0) return needs + of + "the cores";
  return needs + of + (count.with_cores < count.with_devices ? "the cores and " : "") +
         "the memory";
}

std::string piece_word(const Need& need) {
  if (need.spec->strategy == BundleStrategy::StrictSpread) return "node";
  return need.spec->unified ? "bundle" : "logical node";
}

std::string by_segments(const Need& need, const Count& count, Capacity capacity) {
  const std::int32_t each = need.pieces / need.segments;
  const std::string zone = zone_word(need);
  const std::string what = counted(each, piece_word(need)) + " with " +
                           amount(need, need.piece, capacity) + (each == 1 ? "" : " each");
  if (need.segments == 1)
    return "needs " + what + " in one " + zone + "; the best " + zone + " has " +
           number(count.zone_slots);
  return "needs " + number(need.segments) + " segments of " + what + ", every segment in one " +
         zone + "; " + room_for(capacity) + number(count.segments);
}

std::string by_count(const Need& need, const Count& count, Capacity capacity) {
  std::string out = "needs " + counted(need.pieces, piece_word(need)) + " with " +
                    amount(need, need.piece, capacity) + (need.pieces == 1 ? "" : " each");
  out += "; " + room_for(capacity) + number(count.slots);
  if (count.with_all == count.with_devices) return out;
  std::vector<std::string> parts;
  if (need.devices > 0) parts.push_back(counted(count.with_devices, "node") + " have the devices");
  if (need.cpu > 0)
    parts.push_back(number(count.with_cores) + (parts.empty() ? " nodes have" : " also") +
                    " the cores");
  if (need.memory > 0)
    parts.push_back(number(count.with_all) + (parts.empty() ? " nodes have" : " also") +
                    " the memory");
  return out + " (" + listed(parts) + ")";
}

std::string by_sizes(const Need& need, const Count& count, Capacity capacity) {
  const std::string each = amount(need, 1, capacity);
  if (count.bundles < need.bundles)
    return "needs " + counted(need.bundles, "bundle") + " with " + each + " each; " +
           room_for(capacity) + number(count.bundles);
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < need.logical_nodes.size() && i < 8; ++i)
    sizes.push_back(number(need.logical_nodes[i]));
  if (need.logical_nodes.size() > sizes.size()) sizes.push_back("so on");
  std::string out = "logical nodes of " + listed(sizes) + " bundles with " + each + " each";
  if (need.is_segmented())
    out += ", " + number(need.segment_nodes) + " in one " + zone_word(need) + ",";
  return out + " find no place together though " + room_for(capacity) + number(count.bundles) +
         " bundles";
}

// Where more would fit if models could be mixed; else empty.
std::string by_model(const Need& need,
                     std::span<const Room> rooms,
                     const Count& best,
                     Capacity capacity) {
  if (need.devices == 0 || !need.model.is_none()) return {};
  const Count all = count_model(need, rooms, DeviceModelId::none(), true);
  if (all.slots <= best.slots && all.bundles <= best.bundles) return {};
  return " on devices of one model, and all devices of a virtual cluster are of one; of all models "
         "together " +
         room_for(capacity) + (need.alike ? number(all.slots) : number(all.bundles) + " bundles");
}

}  // namespace

std::string why_not(const Need& need, std::span<const Room> rooms, Capacity capacity) {
  const Count count = count_best(need, rooms);
  const std::string name = name_of(need);
  if (count.of_model == 0 && count.outside > 0)
    return name + "needs nodes with a declared " + zone_word(need) + "; no " + node_word(capacity) +
           " that could serve has one";
  if (count.of_model == 0)
    return name + "needs " + amount(need, need.bundles, capacity) + "; no " + node_word(capacity) +
           " has such devices";
  if (count.with_all == 0) return name + no_node(need, count, capacity);
  const std::string mixed = by_model(need, rooms, count, capacity);
  if (!need.alike) return name + by_sizes(need, count, capacity) + mixed;
  if (need.is_segmented()) return name + by_segments(need, count, capacity) + mixed;
  return name + by_count(need, count, capacity) + mixed;
}

namespace {

// Devices that needs of one model ask for together, and rooms of it have; of all where `model` is
// null.
struct Devices {
  std::int64_t wanted = 0;
  std::int64_t there = 0;
};

Devices count_devices(std::span<const Need> needs,
                      std::span<const Room> rooms,
                      const DeviceModelId* model) {
  Devices devices;
  for (const Need& need : needs)
    if (model == nullptr || need.model == *model)
      devices.wanted += std::int64_t{need.bundles} * need.devices;
  for (const Room& room : rooms)
    if (model == nullptr || room.model == *model) devices.there += room.devices;
  return devices;
}

}  // namespace

std::string why_not_together(std::span<const Need> needs,
                             std::span<const Room> rooms,
                             Capacity capacity,
                             Answer answer) {
  std::vector<std::string> names;
  for (const Need& need : needs) names.push_back(need.spec->name);
  Devices devices = count_devices(needs, rooms, nullptr);
  std::string model;
  // Of one model there may be too few, however many there are of others.
  for (const Need& need : needs) {
    if (need.model.is_none() || need.devices == 0) continue;
    const Devices of_model = count_devices(needs, rooms, &need.model);
    if (of_model.wanted <= of_model.there) continue;
    devices = of_model;
    model = model_text(need);
    break;
  }
  std::string out = "virtual clusters " + listed(names) +
                    ": each finds a place by itself, not side by side; together they need " +
                    counted(devices.wanted, model + "device") + ", " + number(devices.there) +
                    (capacity == Capacity::Free ? " are free" : " are declared");
  if (answer == Answer::Unknown) out += "; not every layout could be tried";
  return out;
}

}  // namespace orrery::vcluster
