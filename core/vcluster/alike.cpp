// Placing equal pieces. What fits on a node is a number of slots, so that counts decide.

#include <algorithm>
#include <tuple>

#include "core/base/invariant.hpp"
#include "core/vcluster/need.hpp"

namespace orrery::vcluster {
namespace {

// A room that has slots for at least one piece.
struct Candidate {
  std::uint32_t room;
  std::int32_t slots;  // At most as many as there are pieces.
  std::int32_t spare;  // Bundles that would still fit beside pieces in all slots.
};

auto tightness(const Candidate& c) { return std::tuple(c.slots, c.spare, c.room); }

bool tighter(const Candidate& a, const Candidate& b) { return tightness(a) < tightness(b); }

// Pieces in one room.
struct Chosen {
  std::uint32_t room;
  std::int32_t pieces;
};

// Candidates of one NVLink domain or rack.
struct Zone {
  std::int32_t id;
  std::span<Candidate> candidates;
  std::int64_t slots;
  std::int32_t fit;  // Segments, by the slots that count.

  std::int64_t waste(std::int64_t pieces) const { return slots - pieces; }
};

// Segments given to one zone.
struct Given {
  const Zone* zone;
  std::int32_t segments;
};

std::vector<Candidate> collect(const Need& need, std::span<const Room> rooms, DeviceModelId model) {
  const bool single = need.spec->strategy == BundleStrategy::StrictSpread;
  const std::int32_t most = single ? 1 : need.pieces;
  std::vector<Candidate> out;
  out.reserve(rooms.size());
  for (std::uint32_t i = 0; i < rooms.size(); ++i) {
    if (!need.may_use(rooms[i], model)) continue;
    const std::int32_t fit = need.fit(rooms[i]);
    const std::int32_t slots = std::min(fit / need.piece, most);
    if (slots > 0) out.push_back({i, slots, fit - slots * need.piece});
  }
  return out;
}

// As few rooms as possible: the roomiest are filled, the last one is the tightest that suffices.
void pack(std::span<Candidate> from, std::int32_t pieces, std::vector<Chosen>& out) {
  const auto after = [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.slots, a.spare, a.room) > std::tuple(-b.slots, b.spare, b.room);
  };
  std::make_heap(from.begin(), from.end(), after);
  while (pieces > from.front().slots) {
    std::pop_heap(from.begin(), from.end(), after);
    out.push_back({from.back().room, from.back().slots});
    pieces -= from.back().slots;
    from = from.first(from.size() - 1);
  }
  const Candidate* last = nullptr;
  for (const Candidate& c : from)
    if (c.slots >= pieces && (last == nullptr || tighter(c, *last))) last = &c;
  out.push_back({last->room, pieces});
}

// Some rooms get more than one piece: level by level, the rest to those with the most slots.
void even_out(std::span<Candidate> from, std::int32_t pieces, std::vector<Chosen>& out) {
  const auto up_to = [&](std::int32_t level) {
    std::int64_t sum = 0;
    for (const Candidate& c : from) sum += std::min(c.slots, level);
    return sum;
  };
  std::int32_t level = 1;  // The highest that all of `pieces` reach.
  for (std::int32_t above = pieces + 1; above - level > 1;) {
    const std::int32_t middle = level + (above - level) / 2;
    (up_to(middle) <= pieces ? level : above) = middle;
  }
  std::int64_t rest = pieces - up_to(level);  // Fewer than rooms with more slots than `level`.
  std::sort(from.begin(), from.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.slots, a.room) < std::tuple(-b.slots, b.room);
  });
  for (const Candidate& c : from)
    out.push_back({c.room, std::min(c.slots, level) + (rest-- > 0 ? 1 : 0)});
}

// As many rooms as possible, the tightest first.
void spread(std::span<Candidate> from, std::int32_t pieces, std::vector<Chosen>& out) {
  const auto count = static_cast<std::size_t>(pieces);
  if (from.size() < count) return even_out(from, pieces, out);
  if (from.size() > count)
    std::nth_element(
        from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count), from.end(), tighter);
  for (const Candidate& c : from.first(count)) out.push_back({c.room, 1});
}

// `from` has slots enough.
void choose(const Need& need,
            std::span<Candidate> from,
            std::int32_t pieces,
            std::vector<Chosen>& out) {
  const bool packed = need.spec->strategy == BundleStrategy::Pack || need.is_strict_pack();
  packed ? pack(from, pieces, out) : spread(from, pieces, out);
}

std::vector<Zone> zones_of(const Need& need,
                           std::span<const Room> rooms,
                           std::vector<Candidate>& candidates) {
  const auto zone = [&](const Candidate& c) { return need.zone(rooms[c.room]); };
  const auto by_zone = [&](const Candidate& a, const Candidate& b) {
    return std::tuple(zone(a), a.room) < std::tuple(zone(b), b.room);
  };
  if (!std::is_sorted(candidates.begin(), candidates.end(), by_zone))
    std::sort(candidates.begin(), candidates.end(), by_zone);
  std::vector<Zone> zones;
  for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    Zone made{zone(candidates[begin]), {}, 0, 0};
    for (; end < candidates.size() && zone(candidates[end]) == made.id; ++end)
      made.slots += candidates[end].slots;
    made.candidates = std::span(candidates).subspan(begin, end - begin);
    zones.push_back(made);
  }
  return zones;
}

// Rooms that `pieces` take in a zone where they are packed.
std::int32_t rooms_packed(const Zone& zone, std::int32_t pieces) {
  if (zone.slots == static_cast<std::int64_t>(zone.candidates.size())) return pieces;
  std::vector<std::int32_t> slots;
  for (const Candidate& c : zone.candidates) slots.push_back(c.slots);
  std::sort(slots.begin(), slots.end(), std::greater<>());
  std::int32_t rooms = 0;
  for (; pieces > 0; ++rooms) pieces -= slots[static_cast<std::size_t>(rooms)];
  return rooms;
}

// Few zones: those in which most segments fit are filled; the last one is that in which the rest
// takes the fewest rooms and leaves the least over. Empty where there is not room for all.
std::vector<Given> fill_zones(const Need& need, std::vector<Zone>& zones) {
  const std::int32_t each = need.pieces / need.segments;
  std::sort(zones.begin(), zones.end(), [&](const Zone& a, const Zone& b) {
    const auto key = [&](const Zone& z) {
      return std::tuple(-z.fit, z.waste(std::int64_t{z.fit} * each), z.id);
    };
    return key(a) < key(b);
  });
  std::vector<Given> out;
  std::int32_t rest = need.segments;
  std::size_t i = 0;
  for (; i < zones.size() && zones[i].fit > 0 && zones[i].fit < rest; ++i) {
    out.push_back({&zones[i], zones[i].fit});
    rest -= zones[i].fit;
  }
  if (i == zones.size() || zones[i].fit == 0) return {};
  const bool packed = need.spec->strategy == BundleStrategy::Pack;
  const auto cost = [&](const Zone& z) {
    return std::tuple(packed ? rooms_packed(z, rest * each) : 0, z.waste(rest * each), z.id);
  };
  const Zone* last = &zones[i];
  auto least = cost(*last);
  for (++i; i < zones.size() && zones[i].fit >= rest; ++i) {
    const auto here = cost(zones[i]);
    if (here < least) last = &zones[i], least = here;
  }
  out.push_back({last, rest});
  return out;
}

// Spread with sharing: each further segment goes where it brings the most new rooms. That is best
// because what a zone's next segment brings never grows.
std::vector<Given> spread_zones(const Need& need, std::vector<Zone>& zones) {
  const std::int64_t each = need.pieces / need.segments;

  struct Offer {
    std::int64_t rooms;
    std::size_t zone;
  };

  std::vector<std::int32_t> given(zones.size(), 0);
  const auto gain = [&](std::size_t z) {
    const auto rooms = static_cast<std::int64_t>(zones[z].candidates.size());
    return std::min(rooms, (given[z] + 1) * each) - std::min(rooms, given[z] * each);
  };
  const auto after = [&](const Offer& a, const Offer& b) {
    return std::tuple(-a.rooms, zones[a.zone].id) > std::tuple(-b.rooms, zones[b.zone].id);
  };
  std::vector<Offer> heap;
  for (std::size_t z = 0; z < zones.size(); ++z)
    if (zones[z].fit > 0) heap.push_back({gain(z), z});
  std::make_heap(heap.begin(), heap.end(), after);
  for (std::int32_t s = 0; s < need.segments; ++s) {
    if (heap.empty()) return {};
    std::pop_heap(heap.begin(), heap.end(), after);
    const std::size_t z = heap.back().zone;
    heap.pop_back();
    if (++given[z] == zones[z].fit) continue;
    heap.push_back({gain(z), z});
    std::push_heap(heap.begin(), heap.end(), after);
  }
  std::vector<Given> out;
  for (std::size_t z = 0; z < zones.size(); ++z)
    if (given[z] > 0) out.push_back({&zones[z], given[z]});
  return out;
}

std::vector<Given> give_segments(const Need& need, std::vector<Zone>& zones) {
  const std::int32_t each = need.pieces / need.segments;
  if (need.spec->strategy == BundleStrategy::Spread) {
    for (Zone& z : zones) z.fit = static_cast<std::int32_t>(z.candidates.size()) / each;
    if (auto out = fill_zones(need, zones); !out.empty()) return out;
  }
  for (Zone& z : zones)
    z.fit = static_cast<std::int32_t>(std::min<std::int64_t>(z.slots / each, need.segments));
  return need.spec->strategy == BundleStrategy::Spread ? spread_zones(need, zones)
                                                       : fill_zones(need, zones);
}

bool try_model(const Need& need,
               std::span<const Room> rooms,
               DeviceModelId model,
               std::vector<Chosen>& out) {
  std::vector<Candidate> candidates = collect(need, rooms, model);
  std::int64_t slots = 0;
  for (const Candidate& c : candidates) slots += c.slots;
  if (slots < need.pieces) return false;
  if (!need.is_segmented() || need.pieces == 1) {
    choose(need, candidates, need.pieces, out);
    return true;
  }
  std::vector<Zone> zones = zones_of(need, rooms, candidates);
  const std::vector<Given> given = give_segments(need, zones);
  for (const Given& g : given)
    choose(need, g.zone->candidates, g.segments * (need.pieces / need.segments), out);
  return !given.empty();
}

// Gives logical nodes their rooms, in the order of the topology.
void append_portions(const Need& need, std::span<const Chosen> chosen, std::vector<Portion>& out) {
  std::int32_t next = 0;
  if (need.is_strict_pack() && !need.spec->unified) {
    for (const std::int32_t bundles : need.logical_nodes)
      out.push_back({chosen.front().room, next++, bundles});
    return;
  }
  for (const Chosen& c : chosen) {
    if (need.spec->unified) {
      out.push_back({c.room, 0, c.pieces * need.piece});
      continue;
    }
    for (std::int32_t k = 0; k < c.pieces; ++k) out.push_back({c.room, next++, need.piece});
  }
}

}  // namespace

Answer place_alike(const Need& need, std::span<Room> rooms, std::vector<Portion>& out) {
  invariant(need.alike, "only equal pieces are placed by counts");
  std::vector<Chosen> chosen;
  for (const DeviceModelId model : models_for(need, rooms)) {
    if (!try_model(need, rooms, model, chosen)) continue;
    std::sort(chosen.begin(), chosen.end(), [&](const Chosen& a, const Chosen& b) {
      return std::tuple(need.zone(rooms[a.room]), a.room) <
             std::tuple(need.zone(rooms[b.room]), b.room);
    });
    std::int64_t placed = 0;
    for (const Chosen& c : chosen) {
      need.take(rooms[c.room], c.pieces * need.piece);
      placed += c.pieces;
    }
    invariant(placed == need.pieces, "all pieces were given a room");
    append_portions(need, chosen, out);
    return Answer::Yes;
  }
  return Answer::No;
}

}  // namespace orrery::vcluster
