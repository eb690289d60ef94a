// Placing pieces of any sizes, of several needs at once: first greedily, then by backtracking.

#include <algorithm>
#include <tuple>

#include "core/vcluster/need.hpp"

namespace orrery::vcluster {
namespace {

// Rooms looked at for one piece or another before a search gives up: a few milliseconds. The greedy
// attempt at a single need may take longer, because it is the only one on a large cluster.
constexpr std::int64_t kLooksMax = 400'000;
constexpr std::int64_t kGreedyLooksMax = 4'000'000;

// One piece in the order in which pieces are placed: need by need, segment by segment, the largest
// first.
struct Item {
  std::uint32_t need;
  std::int32_t segment;    // Of its need.
  std::size_t zone_index;  // Of its segment in `Search::zone_`.
  std::int32_t logical_node;
  std::int32_t bundles;
  std::int32_t segment_bundles;
  bool first_of_need;
  bool first_of_segment;
  bool like_previous;
};

// Rooms that are alike in all that matters, as a range of `Search::order_`.
struct RoomClass {
  std::size_t next;  // The first that has nothing on it.
  std::size_t end;
};

// A room where the item could go.
struct Option {
  std::uint32_t room;
  std::int32_t opened;  // Index into `Search::opened_`; -1: a new one, of `room_class`.
  std::uint32_t room_class;
  std::tuple<std::int64_t, std::int32_t, std::int32_t, std::uint32_t> cost;
};

// What was decided for one item.
struct Decision {
  std::size_t tried = 0;
  bool opens = false;
  Option option{};
};

class Search {
 public:
  Search(std::span<const Need* const> needs, std::span<Room> rooms) : needs_(needs), rooms_(rooms) {
    for (std::uint32_t n = 0; n < needs.size(); ++n) add_items(n);
    sort_rooms();
    model_.resize(needs.size());
  }

  Answer run() {
    if (walk(false) == Answer::Yes) return Answer::Yes;
    return walk(true);
  }

  void append(std::uint32_t need, std::vector<Portion>& out) const;

 private:
  void add_items(std::uint32_t need);
  void add_segment(std::uint32_t need, std::int32_t segment);
  void sort_rooms();
  Answer walk(bool backtracks);
  void find_options(std::size_t depth, bool ordered);
  void sum_zones(const Item& item);
  void consider(const Item& item, Option option);
  void drop_equals();
  void put(std::size_t depth, const Option& option);
  void undo(std::size_t depth);
  Answer give_up(std::size_t depth);

  std::int32_t& pieces_on(std::int32_t opened, std::uint32_t need) {
    return pieces_on_[static_cast<std::size_t>(opened) * needs_.size() + need];
  }

  std::span<const Need* const> needs_;
  std::span<Room> rooms_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> order_;
  std::vector<RoomClass> classes_;
  std::vector<std::uint32_t> opened_;    // Rooms with something on them, in order.
  std::vector<std::int32_t> pieces_on_;  // [opened][need]
  std::vector<DeviceModelId> model_;     // Of each need, set by its first item.
  std::vector<std::int32_t> zone_;       // Of each segment of each need, set by its first item.
  std::vector<Decision> decisions_;
  std::vector<Option> options_;                                   // Scratch of `find_options`.
  std::vector<std::pair<std::int32_t, std::int64_t>> zone_sums_;  // Scratch: bundles that fit.
  std::int64_t looks_ = 0;
};

// Bundles that still fit into a zone; zones ascending.
std::int64_t sum_of(const std::vector<std::pair<std::int32_t, std::int64_t>>& sums,
                    std::int32_t zone) {
  const auto at = std::lower_bound(
      sums.begin(), sums.end(), zone, [](const auto& a, std::int32_t z) { return a.first < z; });
  return at != sums.end() && at->first == zone ? at->second : 0;
}

void Search::add_segment(std::uint32_t n, std::int32_t segment) {
  const Need& need = *needs_[n];
  const std::int32_t begin = segment * need.segment_nodes;
  const std::size_t first = items_.size();
  std::int32_t sum = 0;
  for (std::int32_t i = begin; i < begin + need.segment_nodes; ++i) {
    const std::int32_t bundles = need.logical_nodes[static_cast<std::size_t>(i)];
    sum += bundles;
    const std::int32_t pieces = need.spec->unified ? bundles : 1;
    for (std::int32_t k = 0; k < pieces; ++k)
      items_.push_back({n, segment, zone_.size(), i, bundles / pieces, 0, false, false, false});
  }
  zone_.push_back(-1);
  const auto mine = std::span(items_).subspan(first);
  std::stable_sort(
      mine.begin(), mine.end(), [](const Item& a, const Item& b) { return a.bundles > b.bundles; });
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i].segment_bundles = sum;
    mine[i].first_of_segment = i == 0;
    mine[i].first_of_need = i == 0 && segment == 0;
    mine[i].like_previous = i > 0 && mine[i].bundles == mine[i - 1].bundles;
  }
}

void Search::add_items(std::uint32_t n) {
  const Need& need = *needs_[n];
  if (need.is_strict_pack()) {
    items_.push_back({n, 0, zone_.size(), 0, need.bundles, need.bundles, true, true, false});
    zone_.push_back(-1);
    return;
  }
  for (std::int32_t s = 0; s < need.segments; ++s) add_segment(n, s);
}

void Search::sort_rooms() {
  bool by_domain = false;
  bool by_rack = false;
  for (const Need* need : needs_) {
    by_domain = by_domain || need->spec->segment_by == SegmentBy::NvlinkDomain;
    by_rack = by_rack || need->spec->segment_by == SegmentBy::Rack;
  }
  const auto key = [&](std::uint32_t i) {
    const Room& r = rooms_[i];
    return std::tuple(
        by_domain ? r.nvlink_domain : 0, by_rack ? r.rack : 0, r.model, r.devices, r.cpu, r.memory);
  };
  order_.resize(rooms_.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key(a) < key(b);
  });
  for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    while (end < order_.size() && key(order_[end]) == key(order_[begin])) ++end;
    classes_.push_back({begin, end});
  }
}

void Search::sum_zones(const Item& item) {
  const Need& need = *needs_[item.need];
  zone_sums_.clear();
  for (const Room& room : rooms_) {
    const std::int32_t zone = need.zone(room);
    if (zone < 0) continue;
    if (!item.first_of_need && !need.may_use(room, model_[item.need])) continue;
    if (zone_sums_.empty() || zone_sums_.back().first != zone) zone_sums_.push_back({zone, 0});
    zone_sums_.back().second += need.fit(room);
  }
  // A rack may come up several times where rooms stand by NVLink domain.
  std::sort(zone_sums_.begin(), zone_sums_.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < zone_sums_.size(); ++i) {
    if (i > 0 && zone_sums_[i].first == zone_sums_[kept - 1].first)
      zone_sums_[kept - 1].second += zone_sums_[i].second;
    else
      zone_sums_[kept++] = zone_sums_[i];
  }
  zone_sums_.resize(kept);
  looks_ += static_cast<std::int64_t>(rooms_.size() / 4);
}

void Search::consider(const Item& item, Option option) {
  ++looks_;
  const Need& need = *needs_[item.need];
  const Room& room = rooms_[option.room];
  const std::int32_t zone = need.zone(room);
  if (zone < 0 || (!item.first_of_segment && zone != zone_[item.zone_index])) return;
  if (need.devices > 0) {
    const DeviceModelId model = item.first_of_need && need.model.is_none() ? room.model
                                : need.model.is_none()                     ? model_[item.need]
                                                                           : need.model;
    if (room.model != model) return;
  }
  const std::int32_t left = need.fit(room) - item.bundles;
  if (left < 0) return;
  std::int64_t waste = 0;
  if (item.first_of_segment && need.is_segmented()) {
    waste = sum_of(zone_sums_, zone) - item.segment_bundles;
    if (waste < 0) return;
  }
  const std::int32_t mine = option.opened < 0 ? 0 : pieces_on(option.opened, item.need);
  std::int32_t preference = mine;
  if (need.spec->strategy == BundleStrategy::StrictSpread && mine > 0) return;
  if (need.spec->strategy == BundleStrategy::Pack)
    preference = mine > 0 ? 0 : option.opened >= 0 ? 1 : 2;
  option.cost = {waste, preference, left, option.room};
  options_.push_back(option);
}

// Opened rooms that are in the same state lead to the same ends: the first is enough.
void Search::drop_equals() {
  const auto same = [&](const Option& a, const Option& b) {
    if (a.opened < 0 || b.opened < 0) return false;
    const Room& x = rooms_[a.room];
    const Room& y = rooms_[b.room];
    for (std::uint32_t n = 0; n < needs_.size(); ++n)
      if (pieces_on(a.opened, n) != pieces_on(b.opened, n) ||
          needs_[n]->zone(x) != needs_[n]->zone(y))
        return false;
    return x.model == y.model && x.devices == y.devices && x.cpu == y.cpu && x.memory == y.memory;
  };
  std::size_t kept = 0;
  for (const Option& option : options_) {
    const auto mine = std::span(options_).first(kept);
    looks_ += static_cast<std::int64_t>(kept / 4);
    if (std::none_of(
            mine.begin(), mine.end(), [&](const Option& other) { return same(other, option); }))
      options_[kept++] = option;
  }
  options_.resize(kept);
}

// Where the item of `depth` could go, the best first. `ordered`: equal items go to opened rooms in
// ascending order only, so that no layout is met twice.
void Search::find_options(std::size_t depth, bool ordered) {
  const Item& item = items_[depth];
  options_.clear();
  if (item.first_of_segment && needs_[item.need]->is_segmented()) sum_zones(item);
  std::int32_t from = 0;
  if (ordered && item.like_previous) from = decisions_[depth - 1].option.opened;
  for (auto i = from; i < static_cast<std::int32_t>(opened_.size()); ++i)
    consider(item, {opened_[static_cast<std::size_t>(i)], i, 0, {}});
  if (ordered) drop_equals();
  for (std::uint32_t c = 0; c < classes_.size(); ++c)
    if (classes_[c].next < classes_[c].end) consider(item, {order_[classes_[c].next], -1, c, {}});
  std::sort(options_.begin(), options_.end(), [](const Option& a, const Option& b) {
    return a.cost < b.cost;
  });
}

void Search::put(std::size_t depth, const Option& option) {
  const Item& item = items_[depth];
  const Need& need = *needs_[item.need];
  Decision& decision = decisions_[depth];
  decision.option = option;
  decision.opens = option.opened < 0;
  if (decision.opens) {
    decision.option.opened = static_cast<std::int32_t>(opened_.size());
    ++classes_[option.room_class].next;
    opened_.push_back(option.room);
    pieces_on_.resize(pieces_on_.size() + needs_.size(), 0);
  }
  ++pieces_on(decision.option.opened, item.need);
  if (item.first_of_need) model_[item.need] = rooms_[option.room].model;
  if (item.first_of_segment) zone_[item.zone_index] = need.zone(rooms_[option.room]);
  need.take(rooms_[option.room], item.bundles);
}

void Search::undo(std::size_t depth) {
  const Item& item = items_[depth];
  const Option& option = decisions_[depth].option;
  needs_[item.need]->take(rooms_[option.room], -item.bundles);
  --pieces_on(option.opened, item.need);
  if (!decisions_[depth].opens) return;
  // Items are undone in reverse, so that it is the room opened last.
  opened_.pop_back();
  pieces_on_.resize(pieces_on_.size() - needs_.size());
  --classes_[option.room_class].next;
}

Answer Search::give_up(std::size_t depth) {
  while (depth > 0) undo(--depth);
  return Answer::Unknown;
}

Answer Search::walk(bool backtracks) {
  const std::int64_t greedy_max = needs_.size() == 1 ? kGreedyLooksMax : kLooksMax;
  decisions_.assign(items_.size(), {});
  looks_ = 0;
  std::size_t depth = 0;
  while (depth < items_.size()) {
    if (!backtracks && looks_ > greedy_max) return give_up(depth);
    find_options(depth, backtracks);
    Decision& decision = decisions_[depth];
    if (decision.tried < options_.size()) {
      put(depth, options_[decision.tried++]);
      if (++depth < items_.size()) decisions_[depth].tried = 0;
      continue;
    }
    if (depth == 0) return backtracks ? Answer::No : Answer::Unknown;
    if (!backtracks || looks_ > kLooksMax) return give_up(depth);
    undo(--depth);
  }
  return Answer::Yes;
}

void Search::append(std::uint32_t n, std::vector<Portion>& out) const {
  const Need& need = *needs_[n];
  const std::size_t first = out.size();
  std::vector<std::int32_t> zones;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (item.need != n) continue;
    const std::uint32_t room = decisions_[i].option.room;
    if (need.spec->unified) {
      out.push_back({room, 0, item.bundles});
    } else if (need.is_strict_pack()) {
      for (std::size_t k = 0; k < need.logical_nodes.size(); ++k)
        out.push_back({room, static_cast<std::int32_t>(k), need.logical_nodes[k]});
    } else {
      out.push_back({room, item.logical_node, item.bundles});
    }
  }
  if (need.spec->unified || need.is_strict_pack()) return;
  // Logical nodes that are alike change places until they stand in the order of the topology.
  const auto mine = std::span(out).subspan(first);
  std::vector<Portion> by_room(mine.begin(), mine.end());
  const auto kind = [&](const Portion& p) {
    return std::tuple(need.alike ? 0 : p.logical_node / need.segment_nodes, p.bundles);
  };
  std::sort(by_room.begin(), by_room.end(), [&](const Portion& a, const Portion& b) {
    const auto key = [&](const Portion& p) {
      return std::tuple(kind(p), need.zone(rooms_[p.room]), p.room);
    };
    return key(a) < key(b);
  });
  std::sort(mine.begin(), mine.end(), [&](const Portion& a, const Portion& b) {
    return std::tuple(kind(a), a.logical_node) < std::tuple(kind(b), b.logical_node);
  });
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i].room = by_room[i].room;
}

}  // namespace

Answer search(std::span<const Need* const> needs,
              std::span<Room> rooms,
              std::span<std::vector<Portion>* const> out) {
  if (too_much(needs, rooms)) return Answer::No;
  Search search(needs, rooms);
  const Answer answer = search.run();
  if (answer != Answer::Yes) return answer;
  for (std::uint32_t n = 0; n < needs.size(); ++n) search.append(n, *out[n]);
  return answer;
}

}  // namespace orrery::vcluster
