#include "sim/search/enumeration.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "scenarios/language/spec/network_spec.hpp"

namespace orrery::sim {
namespace {

constexpr std::int64_t kLayouts = 3;
constexpr std::int64_t kCountedMax = std::int64_t{1} << 40;

std::vector<std::int32_t> placed_roles(const SearchedJob& job) {
  std::vector<std::int32_t> roles;
  for (std::size_t r = 0; r < job.roles.size(); ++r)
    if (job.roles[r].is_placed()) roles.push_back(static_cast<std::int32_t>(r));
  return roles;
}

bool may_join(const SearchedJob& job, const std::vector<std::int32_t>& pool, std::int32_t role) {
  return std::none_of(
      pool.begin(), pool.end(), [&](std::int32_t other) { return job.are_apart(role, other); });
}

/// All partitions of the roles from `next` on over the pools that are there and new ones.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are roles
void partition(const SearchedJob& job,
               const std::vector<std::int32_t>& roles,
               std::size_t next,
               Sharing& sharing,
               std::vector<Sharing>& out) {
  if (next == roles.size()) {
    out.push_back(sharing);
    return;
  }
  for (std::size_t p = 0; p < sharing.pools.size(); ++p) {
    if (!may_join(job, sharing.pools[p], roles[next])) continue;
    sharing.pools[p].push_back(roles[next]);
    partition(job, roles, next + 1, sharing, out);
    sharing.pools[p].pop_back();
  }
  sharing.pools.push_back({roles[next]});
  partition(job, roles, next + 1, sharing, out);
  sharing.pools.pop_back();
}

/// Devices that a pool can use: no more than its largest role does.
std::int32_t most_devices(const SearchedJob& job, const std::vector<std::int32_t>& pool) {
  std::int64_t most = 0;
  for (const std::int32_t r : pool) {
    const SearchedRole& role = job.roles[static_cast<std::size_t>(r)];
    most = std::max(most, std::int64_t{role.width} * role.max_replicas);
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(most, job.devices));
}

std::int32_t least_devices(const SearchedJob& job, const std::vector<std::int32_t>& pool) {
  std::int64_t least = 1;
  for (const std::int32_t r : pool) {
    const SearchedRole& role = job.roles[static_cast<std::size_t>(r)];
    least = std::max(least, std::int64_t{role.width} * role.min_replicas);
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(least, std::int64_t{job.devices} + 1));
}

/// The sizes that a pool may have: its smallest, then multiples of `step`, its largest.
std::vector<std::int32_t> sizes_of(const SearchedJob& job,
                                   const Sharing& sharing,
                                   std::size_t pool,
                                   std::int32_t step) {
  const std::int32_t least = least_devices(job, sharing.pools[pool]);
  std::int32_t most = most_devices(job, sharing.pools[pool]);
  // What generates is on all pools, and may want more devices than the pool's own roles do.
  if (sharing.generates_everywhere) most = job.devices;
  std::vector<std::int32_t> sizes;
  if (least > most) return sizes;
  sizes.push_back(least);
  for (std::int32_t size = (least / step + 1) * step; size < most; size += step)
    sizes.push_back(size);
  if (most > least) sizes.push_back(most);
  return sizes;
}

/// Micro-batches make no difference where one part waits for all of the one before anyway.
std::vector<std::int32_t> micro_batches_of(const SearchedJob& job, const Candidate& candidate) {
  if (mode_of(candidate) == placement::Mode::Collocated) return {1};
  return job.limits.micro_batches;
}

/// What tells layouts apart: of each node its kind and the devices of each pool there.
class LayoutNames {
 public:
  explicit LayoutNames(const SearchedJob& job)
      : job_(job), all_alike_(job.scenario->network.topology == scenarios::NetworkTopology::Star) {}

  using NodeName = std::tuple<std::int32_t, double, std::string, std::vector<std::int32_t>>;

  std::vector<NodeName> of(const std::vector<std::vector<std::int32_t>>& roles_of_pools,
                           const std::vector<RolePlaces>& places) const {
    std::vector<std::vector<std::int32_t>> by_node(job_.nodes.size());
    for (const auto& roles : roles_of_pools)
      for (const std::int32_t role : roles)
        for (const DeviceRun& run : places[static_cast<std::size_t>(role)].runs) {
          auto& entry = by_node[static_cast<std::size_t>(run.node)];
          entry.push_back(role);
          entry.push_back(run.devices);
        }
    std::vector<NodeName> names;
    for (std::size_t n = 0; n < by_node.size(); ++n) {
      if (by_node[n].empty()) continue;
      const SearchedNode& node = job_.nodes[n];
      const auto place = all_alike_ ? 0 : static_cast<std::int32_t>(n);
      names.emplace_back(place, node.speed, node.model, std::move(by_node[n]));
    }
    if (all_alike_) std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const SearchedJob& job_;
  bool all_alike_;
};

/// Where pools may begin: at the first node, and at each that is another kind than the one before.
std::vector<std::int32_t> first_nodes(const SearchedJob& job) {
  std::vector<std::int32_t> nodes{0};
  for (std::size_t n = 1; n < job.nodes.size(); ++n)
    if (job.nodes[n].speed != job.nodes[n - 1].speed ||
        job.nodes[n].model != job.nodes[n - 1].model)
      nodes.push_back(static_cast<std::int32_t>(n));
  return nodes;
}

/// Visits the layouts of pools whose sizes are given.
class Layouts {
 public:
  Layouts(const SearchedJob& job, const CandidateVisitor& visit)
      : job_(job), names_(job), first_nodes_(first_nodes(job)), visit_(visit) {}

  /// False: no more are wanted.
  bool visit(const Sharing& sharing, const std::vector<std::int32_t>& sizes) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    seen_.clear();
    do {
      Candidate candidate;
      candidate.generates_everywhere = sharing.generates_everywhere;
      for (const std::size_t pool : order)
        candidate.pools.push_back({sharing.pools[pool], sizes[pool]});
      for (const std::int32_t node : first_nodes_) {
        candidate.first_node = node;
        for (const PoolLayout layout :
             {PoolLayout::Packed, PoolLayout::Aligned, PoolLayout::Spread})
          if ((layout == PoolLayout::Packed || order.size() > 1) &&
              !visit_one(sharing, candidate, layout))
            return false;
      }
    } while (job_.nodes.size() > 1 && std::next_permutation(order.begin(), order.end()));
    return true;
  }

 private:
  bool visit_one(const Sharing& sharing, Candidate candidate, PoolLayout layout) {
    candidate.layout = layout;
    const auto places = place_roles(job_, candidate);
    if (!places || !seen_.insert(names_.of(sharing.pools, *places)).second) return true;
    for (const std::int32_t count : micro_batches_of(job_, candidate)) {
      candidate.micro_batches = count;
      if (!visit_(candidate)) return false;
    }
    return true;
  }

  const SearchedJob& job_;
  LayoutNames names_;
  std::vector<std::int32_t> first_nodes_;
  const CandidateVisitor& visit_;
  std::set<std::vector<LayoutNames::NodeName>> seen_;
};

/// Sizes of pools whose sum the job may use. Sums beyond that are not tried: with large roles these
/// are nearly all.
class Sizes {
 public:
  /// `choices` is ascending for each pool, and outlives the object.
  Sizes(const std::vector<std::vector<std::int32_t>>& choices, std::int32_t devices)
      : choices_(choices), devices_(devices), sizes_(choices.size()) {
    least_.push_back(0);
    for (const auto& each : choices) least_.push_back(least_.back() + each.front());
  }

  /// Calls `visit` with each, those of the first pool changing fastest, until it says false.
  template <class Visit>
  bool for_each(const Visit& visit) {
    return choose(choices_.size(), devices_, visit);
  }

 private:
  // The pools before `pools` are still to be chosen for, and have `devices` together.
  template <class Visit>
  // NOLINTNEXTLINE(misc-no-recursion): as deep as there are pools
  bool choose(std::size_t pools, std::int64_t devices, const Visit& visit) {
    if (pools == 0) return visit(sizes_);
    for (const std::int32_t size : choices_[pools - 1]) {
      if (size + least_[pools - 1] > devices) break;
      sizes_[pools - 1] = size;
      if (!choose(pools - 1, devices - size, visit)) return false;
    }
    return true;
  }

  const std::vector<std::vector<std::int32_t>>& choices_;
  std::int32_t devices_;
  std::vector<std::int32_t> sizes_;
  std::vector<std::int64_t> least_;  // Of so many of the first pools.
};

}  // namespace

std::vector<Sharing> all_sharings(const SearchedJob& job) {
  std::vector<Sharing> sharings;
  Sharing sharing;
  const std::vector<std::int32_t> roles = placed_roles(job);
  partition(job, roles, 0, sharing, sharings);
  const std::int32_t generating = job.parts.front().role;
  const bool may_be_everywhere = job.roles[static_cast<std::size_t>(generating)].is_placed() &&
                                 may_join(job, roles, generating);
  if (!may_be_everywhere) return sharings;
  std::vector<std::int32_t> others;
  for (const std::int32_t role : roles)
    if (role != generating) others.push_back(role);
  std::vector<Sharing> apart;
  partition(job, others, 0, sharing, apart);
  for (Sharing& one : apart) {
    one.generates_everywhere = true;
    if (one.pools.size() > 1) sharings.push_back(std::move(one));
  }
  return sharings;
}

std::int64_t count_candidates(const SearchedJob& job,
                              const std::vector<Sharing>& sharings,
                              std::int32_t step) {
  std::int64_t count = 0;
  for (const Sharing& sharing : sharings) {
    // Ways to choose sizes by their sum in steps, each rounded down: no fewer than there are.
    std::vector<std::int64_t> ways(static_cast<std::size_t>(job.devices / step) + 1, 0);
    ways[0] = 1;
    std::int64_t layouts = 1;
    for (std::size_t pool = 0; pool < sharing.pools.size(); ++pool) {
      std::vector<std::int64_t> more(ways.size(), 0);
      for (const std::int32_t size : sizes_of(job, sharing, pool, step)) {
        const auto steps = static_cast<std::size_t>(size / step);
        for (std::size_t sum = 0; sum + steps < ways.size(); ++sum)
          more[sum + steps] = std::min(kCountedMax, more[sum + steps] + ways[sum]);
      }
      ways = std::move(more);
      if (job.nodes.size() > 1) layouts *= static_cast<std::int64_t>(pool) + 1;
    }
    if (job.nodes.size() > 1 && sharing.pools.size() > 1) layouts *= kLayouts;
    layouts *= static_cast<std::int64_t>(first_nodes(job).size());
    const std::int64_t sizes =
        std::min(kCountedMax, std::accumulate(ways.begin(), ways.end(), std::int64_t{0}));
    count += sizes * layouts * static_cast<std::int64_t>(job.limits.micro_batches.size());
  }
  return count;
}

void for_each_candidate(const SearchedJob& job,
                        const std::vector<Sharing>& sharings,
                        std::int32_t step,
                        const CandidateVisitor& visit) {
  Layouts layouts(job, visit);
  for (const Sharing& sharing : sharings) {
    std::vector<std::vector<std::int32_t>> choices;
    for (std::size_t pool = 0; pool < sharing.pools.size(); ++pool)
      choices.push_back(sizes_of(job, sharing, pool, step));
    const bool possible = std::none_of(
        choices.begin(), choices.end(), [](const auto& sizes) { return sizes.empty(); });
    if (possible && !Sizes(choices, job.devices).for_each([&](const auto& sizes) {
          return layouts.visit(sharing, sizes);
        }))
      return;
  }
}

std::vector<Candidate> neighbours(const SearchedJob& job,
                                  const Candidate& candidate,
                                  std::int32_t step) {
  std::vector<Candidate> out;
  std::int32_t used = 0;
  for (const Pool& pool : candidate.pools) used += pool.devices;
  const auto add = [&](Candidate next) {
    for (const std::int32_t count : micro_batches_of(job, next)) {
      next.micro_batches = count;
      out.push_back(next);
    }
  };
  for (std::size_t to = 0; to < candidate.pools.size(); ++to) {
    Candidate more = candidate;
    more.pools[to].devices += step;
    if (used + step <= job.devices) add(more);
    Candidate less = candidate;
    less.pools[to].devices -= step;
    if (less.pools[to].devices > 0) add(less);
    for (std::size_t from = 0; from < candidate.pools.size(); ++from) {
      Candidate moved = more;
      moved.pools[from].devices -= step;
      if (from != to && moved.pools[from].devices > 0) add(moved);
    }
  }
  return out;
}

}  // namespace orrery::sim
