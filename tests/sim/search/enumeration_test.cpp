// Which candidates there are.
#include "sim/search/enumeration.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/random.hpp"
#include "tests/sim/search/searched_scenarios.hpp"

namespace orrery::sim {
namespace {

/// All candidates of a scenario, with the job that they are of.
struct Enumerated {
  explicit Enumerated(const Searched& searched, std::int32_t step = 1)
      : scenario(scenario_of(text_of(searched))),
        job(searched_job(scenario, {}).value()),
        sharings(all_sharings(job)) {
    for_each_candidate(job, sharings, step, [&](const Candidate& one) {
      all.push_back(one);
      return true;
    });
  }

  scenarios::Scenario scenario;
  SearchedJob job;
  std::vector<Sharing> sharings;
  std::vector<Candidate> all;
};

TEST(Enumeration, HasEveryWayToShare) {
  // Five partitions of three roles, and generation on all devices beside two pools.
  EXPECT_EQ(Enumerated({}).sharings.size(), 6u);
  Searched apart;
  apart.search = "{apart: [[rollout, actor]]}";
  const auto sharings = Enumerated(apart).sharings;
  EXPECT_EQ(sharings.size(), 3u);
  for (const Sharing& sharing : sharings) EXPECT_FALSE(sharing.generates_everywhere);
}

TEST(Enumeration, OnOneNodeHasEverySize) {
  Searched searched;
  searched.cluster = "{nodes: 1, gpus_per_node: 4, gpu: h100}";
  searched.search = "{micro_batches: [1], group: 2}";
  std::map<std::size_t, int> by_pools;
  const Enumerated enumerated(searched);
  for (const Candidate& one : enumerated.all)
    if (!one.generates_everywhere) ++by_pools[one.pools.size()];
  EXPECT_EQ(by_pools[1], 4);
  EXPECT_EQ(by_pools[2], 3 * 6) << "three partitions, sums up to four";
  EXPECT_EQ(by_pools[3], 4) << "1+1+1, and one of them 2";
  EXPECT_EQ(count_candidates(enumerated.job, enumerated.sharings, 1),
            static_cast<std::int64_t>(enumerated.all.size()));
}

TEST(Enumeration, HasTheFirstDevicesAloneWhereNotAllMayBeUsed) {
  Searched searched;
  searched.cluster = "{nodes: 3, gpus_per_node: 8, gpu: h100}";
  searched.search = "{micro_batches: [1], group: 2, devices: 12}";
  const Enumerated enumerated(searched);
  ASSERT_EQ(enumerated.job.nodes.size(), 2u);
  EXPECT_EQ(enumerated.job.nodes.back().devices, 4);
  for (const Candidate& one : enumerated.all) {
    const auto places = place_roles(enumerated.job, one);
    ASSERT_TRUE(places);
    for (const RolePlaces& role : *places)
      for (const DeviceRun& run : role.runs)
        EXPECT_LE(first_device(enumerated.job, run) + run.devices, 12);
  }
}

// Of 2,731 sizes of each pool four choices fit: a walk over all of them would not end.
TEST(Enumeration, PassesOverSumsThatDoNotFit) {
  Searched searched;
  searched.cluster = "{nodes: 64, gpus_per_node: 64, gpu: h100}";
  searched.search =
      "{micro_batches: [1], group: 2, apart: [[rollout, inference, actor]], replicas: {rollout: "
      "1365-4096, inference: 1365-4096, actor: 1365-4096}}";
  std::set<std::map<std::int32_t, std::int32_t>> choices;
  for (const Candidate& one : Enumerated(searched).all) {
    std::map<std::int32_t, std::int32_t> sizes;
    for (const Pool& pool : one.pools) sizes[pool.roles.front()] = pool.devices;
    choices.insert(sizes);
  }
  EXPECT_EQ(choices.size(), 4u);
}

TEST(Enumeration, EqualNodesAreNotToldApart) {
  Searched searched;
  searched.cluster = "{nodes: 2, gpus_per_node: 2, gpu: h100}";
  searched.search = "{micro_batches: [1], group: 2, apart: [[rollout, inference, actor]]}";
  const Enumerated alike(searched);
  std::set<std::vector<std::int32_t>> sizes;
  for (const Candidate& one : alike.all) {
    std::vector<std::int32_t> key;
    for (const Pool& pool : one.pools) key.push_back(pool.devices * 10 + pool.roles.front());
    EXPECT_TRUE(sizes.insert(key).second);
  }
  // 1+1+1: one of three is on the second node. One of them has two: it is on a node of its own, or
  // on both; in either case the order of the others makes no difference.
  EXPECT_EQ(alike.all.size(), 3u + 3u * 2u);
  searched.cluster =
      "{groups: [{name: a, nodes: 1, gpus_per_node: 2, gpu: h100}, {name: b, nodes: "
      "1, gpus_per_node: 2, gpu: a100}]}";
  EXPECT_GT(Enumerated(searched).all.size(), alike.all.size()) << "other nodes are others";
}

TEST(Enumeration, NeverExceedsItsCountAndKeepsTheLimits) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const auto number = [&](std::uint64_t low, std::uint64_t high) {
      return std::to_string(low + draw.below(high - low + 1));
    };
    Searched searched;
    searched.cluster =
        "{nodes: " + number(1, 3) + ", gpus_per_node: " + number(2, 4) + ", gpu: h100}";
    searched.actor_devices = static_cast<std::int32_t>(1 + draw.below(2));
    searched.search = "{micro_batches: [1, 4], group: 2, devices: " + number(3, 12) +
                      ", replicas: {rollout: 1-" + number(1, 4) + "}}";
    const auto step = static_cast<std::int32_t>(1 + draw.below(3));
    const Enumerated enumerated(searched, step);
    EXPECT_LE(static_cast<std::int64_t>(enumerated.all.size()),
              count_candidates(enumerated.job, enumerated.sharings, step));
    for (const Candidate& one : enumerated.all) {
      std::int32_t devices = 0;
      for (const Pool& pool : one.pools) devices += pool.devices;
      ASSERT_LE(devices, enumerated.job.devices);
      const auto places = place_roles(enumerated.job, one);
      ASSERT_TRUE(places);
      for (std::size_t r = 0; r < places->size(); ++r) {
        const SearchedRole& role = enumerated.job.roles[r];
        EXPECT_GE((*places)[r].replicas, role.min_replicas);
        EXPECT_LE((*places)[r].replicas, role.max_replicas);
        EXPECT_EQ((*places)[r].devices(), (*places)[r].replicas * role.width);
      }
    }
  }
}

}  // namespace
}  // namespace orrery::sim
