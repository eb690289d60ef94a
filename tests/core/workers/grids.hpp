// Random grids of ranks and tied groups, and shorthand for refusals.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/result.hpp"
#include "core/job/placement_spec.hpp"
#include "core/workers/named_sharding.hpp"

namespace orrery::workers {

/// One to four axes of one to four indices; ranks 0 .. size - 1 in any order.
inline NamedSharding random_grid(Random& random) {
  const std::vector<std::string> all{"dp", "cp", "pp", "tp"};
  std::vector<std::string> names(all.begin(), all.begin() + random.between(1, 4));
  std::vector<std::int32_t> shape;
  std::int32_t size = 1;
  for (std::size_t axis = 0; axis < names.size(); ++axis) {
    shape.push_back(static_cast<std::int32_t>(random.between(1, 4)));
    size *= shape.back();
  }
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  for (std::int32_t rank = 0; rank < size; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  random.shuffle(ranks);
  return NamedSharding::make(names, shape, ranks).value();
}

/// The bundles of every logical node, in any order, cut into tied groups.
inline std::vector<TiedBundles> random_tied_groups(const std::vector<std::int32_t>& bundles,
                                                   Random& random) {
  std::vector<TiedBundles> out;
  for (std::size_t node = 0; node < bundles.size(); ++node) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(bundles[node]));
    std::iota(order.begin(), order.end(), 0);
    random.shuffle(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || random.chance(0.5)) out.push_back({static_cast<std::int32_t>(node), {}});
      out.back().bundles.push_back(order[i]);
    }
  }
  return out;
}

/// "subject: message" of each refusal; empty where there is none.
template <class T>
std::vector<std::string> refusals(const Result<T>& result) {
  std::vector<std::string> out;
  if (result) return out;
  for (const Error& error : result.errors()) out.push_back(error.text());
  return out;
}

}  // namespace orrery::workers
