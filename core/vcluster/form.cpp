#include "core/vcluster/form.hpp"

#include <algorithm>
#include <tuple>

#include "core/vcluster/need.hpp"

namespace orrery::vcluster {
namespace {

// What came of trying all needs against one capacity.
struct Trial {
  Answer answer = Answer::Yes;
  std::size_t failed = 0;  // The need that fits nowhere even by itself; needs.size(): none such.
};

Answer place(const Need& need, std::span<Room> rooms, std::vector<Portion>& out) {
  if (need.alike) return place_alike(need, rooms, out);
  const std::array<const Need*, 1> needs{&need};
  const std::array<std::vector<Portion>*, 1> portions{&out};
  return search(needs, rooms, portions);
}

void give_back(const Need& need, std::span<Room> rooms, std::vector<Portion>& portions) {
  for (const Portion& p : portions) need.take(rooms[p.room], -p.bundles);
  portions.clear();
}

// The fewer places a need has to go, the earlier it is placed.
auto hardness(const Need& need) {
  const std::int32_t largest =
      *std::max_element(need.logical_nodes.begin(), need.logical_nodes.end());
  const std::int32_t together = need.is_strict_pack() ? need.bundles
                                : need.spec->unified  ? 1
                                                      : largest;
  return std::tuple(need.is_segmented() ? need.bundles / need.segments * need.devices : 0,
                    together * need.devices,
                    need.spec->strategy == BundleStrategy::StrictSpread,
                    !need.model.is_none(),
                    need.bundles);
}

// One after the other, in the order given, or none.
Answer place_in_turn(std::span<const Need> needs,
                     std::span<const std::size_t> order,
                     std::span<Room> rooms,
                     std::vector<std::vector<Portion>>& portions) {
  for (const std::size_t i : order) {
    const Answer answer = place(needs[i], rooms, portions[i]);
    if (answer == Answer::Yes) continue;
    for (const std::size_t k : order) give_back(needs[k], rooms, portions[k]);
    return answer;
  }
  return Answer::Yes;
}

Trial place_together(std::span<const Need> needs,
                     std::span<Room> rooms,
                     std::vector<std::vector<Portion>>& portions) {
  std::vector<std::size_t> order(needs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return hardness(needs[a]) > hardness(needs[b]);
  });
  if (place_in_turn(needs, order, rooms, portions) == Answer::Yes) return {Answer::Yes, 0};
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const Answer answer = place(needs[i], rooms, portions[i]);
    give_back(needs[i], rooms, portions[i]);
    if (answer != Answer::Yes) return {answer, i};
  }
  std::reverse(order.begin(), order.end());
  if (place_in_turn(needs, order, rooms, portions) == Answer::Yes) return {Answer::Yes, 0};
  std::vector<const Need*> wanted;
  std::vector<std::vector<Portion>*> out;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    wanted.push_back(&needs[*i]);
    out.push_back(&portions[*i]);
  }
  return {search(wanted, rooms, out), needs.size()};
}

Trial place_all(std::span<const Need> needs,
                std::span<Room> rooms,
                std::vector<std::vector<Portion>>& portions) {
  portions.assign(needs.size(), {});
  if (needs.size() > 1) return place_together(needs, rooms, portions);
  if (needs.empty()) return {Answer::Yes, 0};
  return {place(needs.front(), rooms, portions.front()), 0};
}

std::vector<Need> make_needs(std::span<const BundleRequest> requests) {
  std::vector<Need> needs;
  needs.reserve(requests.size());
  for (const BundleRequest& request : requests) needs.push_back(make_need(request));
  return needs;
}

std::string explain(std::span<const Need> needs,
                    std::span<const Room> rooms,
                    const Trial& trial,
                    Capacity capacity) {
  if (trial.failed == needs.size()) return why_not_together(needs, rooms, capacity, trial.answer);
  return why_not(needs[trial.failed], rooms, capacity);
}

Forming formed(std::span<const Need> needs,
               std::span<Room> rooms,
               std::vector<std::vector<Portion>>& portions) {
  Forming out;
  out.outcome = Outcome::Formed;
  for (std::size_t i = 0; i < needs.size(); ++i)
    out.clusters.push_back(lay_out(needs[i], rooms, std::move(portions[i])));
  return out;
}

}  // namespace

Forming try_form(std::span<const NodeOffer> offers, std::span<const BundleRequest> requests) {
  const std::vector<Need> needs = make_needs(requests);
  std::vector<Room> rooms = make_rooms(offers, Capacity::Free);
  std::vector<std::vector<Portion>> portions;
  if (place_all(needs, rooms, portions).answer != Answer::Yes) return {};
  return formed(needs, rooms, portions);
}

Forming form(std::span<const NodeOffer> offers, std::span<const BundleRequest> requests) {
  const std::vector<Need> needs = make_needs(requests);
  std::vector<Room> rooms = make_rooms(offers, Capacity::Free);
  std::vector<std::vector<Portion>> portions;
  const Trial now = place_all(needs, rooms, portions);
  if (now.answer == Answer::Yes) return formed(needs, rooms, portions);
  std::vector<Room> all = make_rooms(offers, Capacity::Total);
  const Trial ever = place_all(needs, all, portions);
  if (ever.answer == Answer::No)
    return {Outcome::Infeasible, explain(needs, all, ever, Capacity::Total), {}};
  return {Outcome::Waiting, explain(needs, rooms, now, Capacity::Free), {}};
}

}  // namespace orrery::vcluster
