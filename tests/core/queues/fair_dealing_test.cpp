// Shares against a reference that deals unit by unit.
#include "core/queues/fair_dealing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/random.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kUnit = 1'000'000;

/// The definition: each unit goes to the one whose gain over its weight is the least with it, as
/// long as all that it takes is there. Gains are what is had beside what is guaranteed.
class UnitByUnit {
 public:
  UnitByUnit(std::vector<ShareClaim> claims, QueueVector available)
      : claims_(std::move(claims)),
        available_(available),
        base_(claims_.size(), 0),
        has_(claims_.size(), 0) {}

  std::vector<std::int64_t> run() {
    fill([](const ShareClaim& c) { return c.guaranteed; },
         [](const ShareClaim& c) { return c.guaranteed; });
    base_ = has_;
    fill([](const ShareClaim& c) { return c.ahead > c.guaranteed ? 1 : 0; },
         [](const ShareClaim& c) { return std::max(c.ahead, c.guaranteed); });
    for (std::int32_t priority = 9; priority >= -9; --priority)
      fill([&](const ShareClaim& c) { return c.priority == priority ? c.weight : 0; },
           [](const ShareClaim& c) { return c.most; });
    fill([](const ShareClaim& c) { return c.weight == 0 ? 1 : 0; },
         [](const ShareClaim& c) { return c.most; });
    return has_;
  }

 private:
  using Of = std::function<std::int64_t(const ShareClaim&)>;

  void fill(const Of& weight, const Of& most) {
    std::vector<bool> settled(claims_.size(), false);
    while (true) {
      std::size_t next = SIZE_MAX;
      for (std::size_t i = 0; i < claims_.size(); ++i) {
        if (settled[i] || weight(claims_[i]) == 0 || has_[i] >= most(claims_[i])) continue;
        if (next == SIZE_MAX || (has_[i] - base_[i] + 1) * weight(claims_[next]) <
                                    (has_[next] - base_[next] + 1) * weight(claims_[i]))
          next = i;
      }
      if (next == SIZE_MAX) return;
      ++has_[next];
      if (fits()) continue;
      --has_[next];
      settled[next] = true;
    }
  }

  bool fits() const {
    for (std::size_t r = 0; r < kQueueResources; ++r) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < claims_.size(); ++i)
        sum += (has_[i] * claims_[i].shape[r] + kUnit - 1) / kUnit;
      if (sum > available_[r]) return false;
    }
    return true;
  }

  std::vector<ShareClaim> claims_;
  QueueVector available_;
  std::vector<std::int64_t> base_;
  std::vector<std::int64_t> has_;
};

ShareClaim random_claim(Random& random, bool several) {
  ShareClaim claim;
  claim.weight = random.below(6) == 0 ? 0 : random.between(1, random.below(3) == 0 ? 90 : 4);
  claim.priority = random.below(3) == 0 ? static_cast<std::int32_t>(random.between(-2, 2)) : 0;
  claim.most = random.between(0, 60);
  if (random.below(2) == 0) claim.guaranteed = random.between(0, claim.most);
  if (random.below(5) == 0) claim.ahead = random.between(0, claim.most);
  claim.shape = {kUnit, 0, 0};
  if (!several) return claim;
  for (std::int64_t& part : claim.shape) part = random.between(0, kUnit);
  claim.shape[random.below(kQueueResources)] = kUnit;
  return claim;
}

TEST(FairDealing, IsWhatDealingUnitByUnitGives) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random = Random::stream(seed, "dealing");
    const bool several = seed % 2 == 0;
    std::vector<ShareClaim> claims;
    for (std::int64_t n = random.between(0, 7); n > 0; --n)
      claims.push_back(random_claim(random, several));
    QueueVector available{random.between(0, 150), random.between(0, 150), random.between(0, 150)};
    const std::vector<std::int64_t> dealt = deal_shares(claims, available);
    ASSERT_EQ(dealt, UnitByUnit(claims, available).run()) << "seed " << seed;
    if (several) continue;
    const std::int64_t wanted =
        std::accumulate(claims.begin(), claims.end(), std::int64_t{0}, [](auto sum, const auto& c) {
          return sum + c.most;
        });
    EXPECT_EQ(std::accumulate(dealt.begin(), dealt.end(), std::int64_t{0}),
              std::min(wanted, available[0]))
        << "all is dealt, or all are content; seed " << seed;
  }
}

ShareClaim asks(std::int64_t most, std::int64_t weight, std::int64_t guaranteed = 0) {
  ShareClaim claim;
  claim.most = most;
  claim.weight = weight;
  claim.guaranteed = guaranteed;
  return claim;
}

TEST(FairDealing, SharesByWeightAndGivesOnWhatOneDoesNotAskFor) {
  const QueueVector all{100, 100, 100};
  EXPECT_THAT(deal_shares(std::vector{asks(100, 3), asks(100, 1)}, all), ElementsAre(75, 25));
  EXPECT_THAT(deal_shares(std::vector{asks(30, 3), asks(100, 1)}, all), ElementsAre(30, 70));
  EXPECT_THAT(deal_shares(std::vector{asks(100, 0), asks(40, 1)}, all), ElementsAre(60, 40));
}

TEST(FairDealing, GivesWhatIsGuaranteedFirstAndTheRestByWeight) {
  const QueueVector all{100, 100, 100};
  EXPECT_THAT(deal_shares(std::vector{asks(100, 1, 40), asks(100, 1)}, all), ElementsAre(70, 30));
  EXPECT_THAT(deal_shares(std::vector{asks(100, 1, 80), asks(100, 9, 40)}, all),
              ElementsAre(67, 33))
      << "more is guaranteed than there is: in proportion";
}

TEST(FairDealing, WhatIsGivenAheadIsThePartOfTheRest) {
  ShareClaim ahead = asks(100, 1);
  ahead.ahead = 34;
  EXPECT_THAT(deal_shares(std::vector{ahead, asks(100, 1), asks(100, 1)}, {100, 100, 100}),
              ElementsAre(34, 33, 33));
  ahead.ahead = 60;
  EXPECT_THAT(deal_shares(std::vector{ahead, asks(100, 1), asks(15, 1)}, {100, 100, 100}),
              ElementsAre(60, 25, 15));
}

TEST(FairDealing, FillsTheHighestClassFirst) {
  ShareClaim first = asks(70, 1);
  first.priority = 5;
  EXPECT_THAT(deal_shares(std::vector{asks(100, 9), first}, {100, 100, 100}), ElementsAre(30, 70));
}

// The example of the paper: 9 cores and 18 GB; tasks of <1 core, 4 GB> and <3 cores, 1 GB>. Both
// have two thirds of what they take most of.
TEST(FairDealing, IsFairByDominantResource) {
  ShareClaim memory = asks(18'000, 1);
  memory.shape = {kUnit * 2 * 1 / 4, kUnit, 0};  // (1/9) over (4/18).
  ShareClaim cores = asks(18'000, 1);
  cores.shape = {kUnit, kUnit * 3 / 18, 0};  // (1/18) over (3/9).
  const std::vector<std::int64_t> dealt =
      deal_shares(std::vector{memory, cores}, {9'000, 9'000, 0});
  EXPECT_THAT(dealt, ElementsAre(6'000, 6'000));
}

TEST(FairDealing, TakesAmountsOfLargeClusters) {
  const std::int64_t all = std::int64_t{131'072} * 1000;
  std::vector<ShareClaim> claims;
  for (int i = 0; i < 200; ++i) claims.push_back(asks(all, 1'000'000'000 + i));
  const std::vector<std::int64_t> dealt = deal_shares(claims, {all, all, all});
  EXPECT_EQ(std::accumulate(dealt.begin(), dealt.end(), std::int64_t{0}), all);
  EXPECT_NEAR(static_cast<double>(dealt.front()), static_cast<double>(all) / 200, 2);
}

}  // namespace
}  // namespace orrery
