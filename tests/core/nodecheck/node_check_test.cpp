// Two rounds in pairs name the nodes that do not work, and those that are slow.
#include "core/nodecheck/node_check.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/base/random.hpp"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Duration> seconds(std::initializer_list<double> values) {
  std::vector<Duration> durations;
  for (const double value : values) durations.push_back(Duration::from_seconds(value));
  return durations;
}

NodeMeasure took(double seconds) { return {false, Duration::from_seconds(seconds)}; }

constexpr NodeMeasure kFailed{true, {}};

TEST(NodeCheck, StragglersAreThoseAboveTwiceTheMedian) {
  EXPECT_THAT(find_straggling_nodes(seconds({.1, .2, .3})), IsEmpty());
  EXPECT_THAT(find_straggling_nodes(seconds({.1, 3, .3})), ElementsAre(1));
  EXPECT_THAT(find_straggling_nodes(seconds({.1, 3, .3, 4})), ElementsAre(1, 3));
  EXPECT_THAT(find_straggling_nodes(seconds({5})), IsEmpty());
  EXPECT_THAT(find_straggling_nodes({}), IsEmpty());
  EXPECT_THAT(find_straggling_nodes(seconds({1, 1.4, 1.6}), 1.5), IsEmpty());
  EXPECT_THAT(find_straggling_nodes(seconds({1, 1, 1.6}), 1.5), ElementsAre(2));
}

TEST(NodeCheck, NeighboursArePairedFirst) {
  EXPECT_THAT(first_check_round(0), IsEmpty());
  EXPECT_THAT(first_check_round(1), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(first_check_round(2), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(first_check_round(5), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3, 4)));
}

TEST(NodeCheck, TheSecondRoundPairsTheFastestWithTheSlowest) {
  const std::vector<NodeMeasure> first{took(1), took(1.1), kFailed, kFailed, took(2), took(2.1)};
  EXPECT_THAT(second_check_round(first),
              ElementsAre(ElementsAre(0, 5), ElementsAre(1, 2), ElementsAre(4, 3)))
      << "(0 3) (1 2) (4 5), but 4 and 5 have met before";
}

TEST(NodeCheck, OldPartnersAreKeptApart) {
  const std::vector<NodeMeasure> first{took(1), took(9), took(5), took(6)};
  EXPECT_THAT(second_check_round(first), ElementsAre(ElementsAre(0, 3), ElementsAre(2, 1)));
}

TEST(NodeCheck, WhoFailsWithEverybodyIsAbnormal) {
  const std::vector<NodeMeasure> first{took(1), took(1), kFailed, kFailed};
  const std::vector<NodeMeasure> second{kFailed, took(1), took(1), kFailed};
  EXPECT_EQ(judge_nodes(first, second), (CheckVerdict{{3}, {}}));
}

TEST(NodeCheck, APartnerIsNotSlowForHavingHadASlowOne) {
  const std::vector<NodeMeasure> first{took(1), took(1.1), took(8), took(8)};
  const std::vector<NodeMeasure> second{took(8), took(1), took(1.2), took(8)};
  EXPECT_EQ(judge_nodes(first, second), (CheckVerdict{{}, {3}}));
}

TEST(NodeCheck, RoundsEndWithTheLastAnswerOrAtTheDeadline) {
  NodeCheck check(3);
  EXPECT_FALSE(check.take(0, 1, took(1)));
  EXPECT_FALSE(check.take(0, 1, kFailed)) << "the first answer counts";
  EXPECT_FALSE(check.take(1, 2, took(1))) << "of another round";
  EXPECT_FALSE(check.take(7, 1, took(1)));
  EXPECT_FALSE(check.take(1, 1, took(1)));
  EXPECT_TRUE(check.give_up()) << "node 2 has not answered";
  EXPECT_EQ(check.round(), 2);
  EXPECT_FALSE(check.verdict());
  EXPECT_FALSE(check.take(0, 2, took(1)));
  EXPECT_FALSE(check.take(1, 2, took(5)));
  EXPECT_TRUE(check.take(2, 2, kFailed));
  ASSERT_TRUE(check.verdict());
  EXPECT_EQ(*check.verdict(), (CheckVerdict{{2}, {}}));
  EXPECT_FALSE(check.give_up());
  EXPECT_FALSE(check.take(2, 2, took(1)));
}

/// Everybody in a group with a broken node fails, and takes as long as the slowest of the group.
void answer(NodeCheck& check,
            const std::set<std::size_t>& broken,
            const std::set<std::size_t>& slow) {
  const CheckGroups groups = check.groups();
  const std::int32_t round = check.round();
  for (const std::vector<std::size_t>& group : groups) {
    const auto any_of = [&](const std::set<std::size_t>& nodes) {
      return std::any_of(
          group.begin(), group.end(), [&](std::size_t node) { return nodes.contains(node); });
    };
    const NodeMeasure measure = any_of(broken) ? kFailed : took(any_of(slow) ? 9 : 1);
    for (const std::size_t node : group) check.take(node, round, measure);
  }
}

TEST(NodeCheck, FindsWhoIsBrokenAndWhoIsSlowWhateverTheirPlaces) {
  constexpr std::uint64_t kSeed = 20261122;
  Random random(kSeed);
  for (int run = 0; run < 2000; ++run) {
    const auto nodes = static_cast<std::size_t>(2 + random.below(30));
    const auto bad = static_cast<std::size_t>(random.below(nodes / 5 + 1));
    std::set<std::size_t> broken;
    std::set<std::size_t> slow;
    while (broken.size() < bad) broken.insert(static_cast<std::size_t>(random.below(nodes)));
    NodeCheck check(nodes);
    std::size_t failed = 0;
    for (const std::vector<std::size_t>& group : check.groups()) {
      std::set<std::size_t> places(group.begin(), group.end());
      ASSERT_EQ(places.size(), group.size());
      if (std::any_of(group.begin(), group.end(), [&](auto node) { return broken.contains(node); }))
        failed += group.size();
    }
    answer(check, broken, slow);
    ASSERT_EQ(check.round(), 2);
    std::set<std::size_t> seen;
    for (const std::vector<std::size_t>& group : check.groups())
      seen.insert(group.begin(), group.end());
    ASSERT_EQ(seen.size(), nodes) << "everybody is checked again";
    answer(check, broken, slow);
    ASSERT_TRUE(check.verdict());
    const std::set<std::size_t> found(check.verdict()->abnormal.begin(),
                                      check.verdict()->abnormal.end());
    for (const std::size_t node : broken)
      ASSERT_TRUE(found.contains(node)) << "seed " << kSeed << ", run " << run;
    if (2 * failed + 3 <= nodes) {
      ASSERT_EQ(found, broken) << "seed " << kSeed << ", run " << run << ", nodes " << nodes;
    }
    ASSERT_THAT(check.verdict()->stragglers, IsEmpty());
  }
}

TEST(NodeCheck, ASlowNodeIsToldFromItsPartners) {
  for (std::size_t nodes = 4; nodes < 20; ++nodes)
    for (std::size_t slow = 0; slow < nodes; ++slow) {
      NodeCheck check(nodes);
      answer(check, {}, {slow});
      answer(check, {}, {slow});
      ASSERT_TRUE(check.verdict());
      EXPECT_THAT(check.verdict()->stragglers, testing::Contains(slow)) << nodes;
      if (nodes >= 6) {
        EXPECT_THAT(check.verdict()->stragglers, ElementsAre(slow)) << nodes;
      }
    }
}

}  // namespace
}  // namespace orrery
