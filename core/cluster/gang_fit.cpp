#include "core/cluster/gang_fit.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace orrery {
namespace {

/// Roles of different sizes that a search goes into.
constexpr std::size_t kSizesMax = 6;

/// Steps of one search. Another number is another decision on some jobs: a new rule.
constexpr std::int32_t kStepsMax = 4096;

/// `replicas_that_fit` says no more of one node.
constexpr std::int64_t kSaidMax = 1'000'000;

bool asks_for_nothing(const Demand& demand) {
  return demand.cpu.count <= 0 && demand.memory.count <= 0 && demand.devices == 0;
}

// Whether a replica of `small` fits wherever one of `large` does.
bool fits_instead(const Demand& small, const Demand& large) {
  return small.cpu <= large.cpu && small.memory <= large.memory &&
         small.thousandths() <= large.thousandths() &&
         (small.devices == 0 || small.model.is_none() || small.model == large.model);
}

struct Sums {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t thousandths = 0;  // Of devices.
};

// Of nodes with devices of this model; none: of all nodes.
Sums sums_of(std::span<const NodeKind> nodes, DeviceModelId model) {
  Sums sums;
  for (const NodeKind& kind : nodes) {
    if (!model.is_none() && kind.free.model != model) continue;
    sums.cpu += kind.count * kind.free.cpu.count;
    sums.memory += kind.count * kind.free.memory.count;
    sums.thousandths += kind.count * kind.free.thousandths();
  }
  return sums;
}

// Of roles that ask for devices of this model; none: of all roles.
Sums sums_of(std::span<const GangRole> gang, DeviceModelId model) {
  Sums sums;
  for (const GangRole& role : gang) {
    if (!model.is_none() && (role.demand.devices == 0 || role.demand.model != model)) continue;
    sums.cpu += role.replicas * role.demand.cpu.count;
    sums.memory += role.replicas * role.demand.memory.count;
    sums.thousandths += role.replicas * role.demand.thousandths();
  }
  return sums;
}

bool sums_suffice(std::span<const NodeKind> nodes,
                  std::span<const GangRole> gang,
                  DeviceModelId model) {
  const Sums has = sums_of(nodes, model);
  const Sums asked = sums_of(gang, model);
  return asked.cpu <= has.cpu && asked.memory <= has.memory && asked.thousandths <= has.thousandths;
}

// Whether there is room for the replicas that need at least this much, each counted as one that
// needs no more.
bool sizes_suffice(std::span<const NodeKind> nodes,
                   std::span<const GangRole> gang,
                   const Demand& demand) {
  if (asks_for_nothing(demand)) return true;
  std::int64_t replicas = 0;
  for (const GangRole& role : gang)
    if (fits_instead(demand, role.demand)) replicas += role.replicas;
  return replicas_on(nodes, demand) >= std::min(replicas, kSaidMax);
}

// Roles of equal replicas as one; those that ask for nothing fit anywhere.
std::vector<GangRole> by_size(std::span<const GangRole> gang) {
  std::vector<GangRole> sizes;
  for (const GangRole& role : gang) {
    if (role.replicas <= 0 || asks_for_nothing(role.demand)) continue;
    const auto same = std::find_if(sizes.begin(), sizes.end(), [&](const GangRole& other) {
      return other.demand == role.demand;
    });
    if (same == sizes.end())
      sizes.push_back(role);
    else
      same->replicas += role.replicas;
  }
  return sizes;
}

/// Looks for numbers of replicas on every node that make up the gang. Nodes of one kind are filled
/// in few ways, and only the number of nodes filled in each way matters.
class Search {
 public:
  Search(std::span<const NodeKind> nodes, const std::vector<GangRole>& gang)
      : nodes_(nodes), gang_(gang) {}

  // Whether a placement was found, or the search was too long.
  bool may_fit() {
    fillings_.resize(nodes_.size());
    for (std::size_t kind = 0; kind < nodes_.size(); ++kind) {
      Counts none{};
      fill(kind, 0, none);
    }
    Counts wanted{};
    for (std::size_t r = 0; r < gang_.size(); ++r) wanted[r] = gang_[r].replicas;
    return steps_ > kStepsMax || covers({0, 0, nodes_.empty() ? 0 : nodes_[0].count}, wanted);
  }

 private:
  using Counts = std::array<std::int64_t, kSizesMax>;  // Of each role's replicas.

  // Where the search has come: nodes of this kind that are not filled yet, and the ways left.
  struct Place {
    std::size_t kind = 0;
    std::size_t filling = 0;
    std::int64_t nodes = 0;
  };

  bool fits(const NodeFree& node, const Counts& counts) const {
    Sums sums;
    std::int64_t parts = 0;
    std::int64_t whole = 0;
    for (std::size_t r = 0; r < gang_.size(); ++r) {
      if (counts[r] == 0) continue;
      const Demand& demand = gang_[r].demand;
      if (demand.devices > 0 && !demand.model.is_none() && demand.model != node.model) return false;
      sums.cpu += counts[r] * demand.cpu.count;
      sums.memory += counts[r] * demand.memory.count;
      (is_share(demand) ? parts : whole) += counts[r] * demand.thousandths();
    }
    const std::int64_t devices = whole / 1000 + (parts + 999) / 1000;
    return sums.cpu <= node.cpu.count && sums.memory <= node.memory.count &&
           devices <= node.devices;
  }

  // All ways to fill a node of the kind so that no replica could be added that is asked for.
  void fill(std::size_t kind, std::size_t role, Counts counts) {
    const NodeFree& node = nodes_[kind].free;
    if (++steps_ > kStepsMax) return;
    if (role < gang_.size()) {
      for (; counts[role] <= gang_[role].replicas && fits(node, counts); ++counts[role]) {
        fill(kind, role + 1, counts);
        if (steps_ > kStepsMax) return;
      }
      return;
    }
    if (counts == Counts{}) return;
    for (std::size_t r = 0; r < gang_.size(); ++r) {
      Counts more = counts;
      if (++more[r] <= gang_[r].replicas && fits(node, more)) return;
    }
    fillings_[kind].push_back(counts);
  }

  // Whether each role by itself could still get what it lacks.
  bool can_cover(const Place& at, const Counts& wanted) const {
    for (std::size_t r = 0; r < gang_.size(); ++r) {
      std::int64_t room = 0;
      for (std::size_t kind = at.kind; kind < nodes_.size() && room < wanted[r]; ++kind) {
        const std::vector<Counts>& ways = fillings_[kind];
        std::int64_t most = 0;
        for (std::size_t way = kind == at.kind ? at.filling : 0; way < ways.size(); ++way)
          most = std::max(most, ways[way][r]);
        room += most * (kind == at.kind ? at.nodes : nodes_[kind].count);
      }
      if (room < wanted[r]) return false;
    }
    return true;
  }

  bool covers(Place at, const Counts& wanted) {
    if (std::all_of(wanted.begin(), wanted.end(), [](std::int64_t left) { return left <= 0; }))
      return true;
    if (++steps_ > kStepsMax) return true;
    while (at.kind < nodes_.size() && at.filling == fillings_[at.kind].size()) {
      ++at.kind;
      at = {at.kind, 0, at.kind < nodes_.size() ? nodes_[at.kind].count : 0};
    }
    if (at.kind == nodes_.size() || !can_cover(at, wanted)) return false;
    const Counts& filling = fillings_[at.kind][at.filling];
    std::int64_t most = 0;  // More of such nodes than this give nothing.
    for (std::size_t r = 0; r < gang_.size(); ++r)
      if (filling[r] > 0 && wanted[r] > 0)
        most = std::max(most, (wanted[r] + filling[r] - 1) / filling[r]);
    for (std::int64_t n = std::min(most, at.nodes); n >= 0; --n) {
      Counts left = wanted;
      for (std::size_t r = 0; r < gang_.size(); ++r) left[r] -= n * filling[r];
      if (covers({at.kind, at.filling + 1, at.nodes - n}, left)) return true;
    }
    return false;
  }

  std::span<const NodeKind> nodes_;
  const std::vector<GangRole>& gang_;
  std::vector<std::vector<Counts>> fillings_;  ///< Of each kind of node.
  std::int32_t steps_ = 0;
};

}  // namespace

std::int64_t replicas_on(std::span<const NodeKind> nodes, const Demand& demand) {
  std::int64_t fit = 0;
  for (const NodeKind& kind : nodes) fit += kind.count * replicas_that_fit(kind.free, demand);
  return fit;
}

bool may_fit_together(std::span<const NodeKind> nodes, std::span<const GangRole> gang) {
  // Each by itself first: then no sum below is too large for its type.
  for (const GangRole& role : gang)
    if (replicas_on(nodes, role.demand) < role.replicas) return false;
  if (!sums_suffice(nodes, gang, DeviceModelId::none())) return false;
  for (const GangRole& role : gang) {
    if (!role.demand.model.is_none() && !sums_suffice(nodes, gang, role.demand.model)) return false;
    if (!sizes_suffice(nodes, gang, role.demand)) return false;
  }
  const std::vector<GangRole> sizes = by_size(gang);
  if (sizes.size() < 2 || sizes.size() > kSizesMax) return true;
  return Search(nodes, sizes).may_fit();
}

}  // namespace orrery
