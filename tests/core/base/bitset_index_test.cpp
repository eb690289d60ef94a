#include "core/base/bitset_index.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/random.hpp"

namespace orrery {
namespace {

std::size_t next_in(const std::set<std::size_t>& set, std::size_t from) {
  const auto at = set.lower_bound(from);
  return at == set.end() ? BitsetIndex::kNone : *at;
}

TEST(BitsetIndex, AgreesWithAnOrderedSetOverRandomHistories) {
  for (const std::size_t size : {1U, 63U, 64U, 65U, 4096U, 4097U, 300'000U}) {
    Random random(size);
    BitsetIndex index(size);
    std::set<std::size_t> set;
    for (int step = 0; step < 20'000; ++step) {
      // Half of the places come from a narrow range, so that words fill and empty again.
      const std::size_t place = random.below(random.chance(0.5) ? size : 1 + size / 50);
      switch (random.below(4)) {
        case 0:
        case 1:
          ASSERT_EQ(index.insert(place), set.insert(place).second) << "seed " << size;
          break;
        case 2:
          ASSERT_EQ(index.erase(place), set.erase(place) == 1) << "seed " << size;
          break;
        default:
          ASSERT_EQ(index.next_from(place), next_in(set, place)) << "seed " << size;
          ASSERT_EQ(index.contains(place), set.count(place) == 1) << "seed " << size;
      }
      ASSERT_EQ(index.count(), set.size()) << "seed " << size;
      ASSERT_EQ(index.first(), next_in(set, 0)) << "seed " << size;
    }
    for (const std::size_t member : set) ASSERT_TRUE(index.erase(member));
    EXPECT_TRUE(index.empty());
    EXPECT_EQ(index, BitsetIndex(size)) << "no bit is left above emptied words";
  }
}

TEST(BitsetIndex, WalksItsMembersInOrder) {
  BitsetIndex index(100'000);
  const std::vector<std::size_t> members{0, 63, 64, 4095, 4096, 99'999};
  for (const std::size_t member : members) index.insert(member);
  std::vector<std::size_t> seen;
  for (std::size_t i = index.first(); i != BitsetIndex::kNone; i = index.next_from(i + 1)) {
    seen.push_back(i);
  }
  EXPECT_EQ(seen, members);
}

TEST(BitsetIndex, CopiesAreSeparate) {
  BitsetIndex index(100);
  index.insert(5);
  BitsetIndex copy = index;
  copy.insert(6);
  EXPECT_FALSE(index.contains(6));
  EXPECT_TRUE(copy.contains(5));
}

TEST(BitsetIndex, ResizingKeepsTheMembers) {
  BitsetIndex index;
  EXPECT_EQ(index.first(), BitsetIndex::kNone);
  EXPECT_FALSE(index.contains(0));
  index.resize(10);
  index.insert(9);
  index.resize(10'000);
  EXPECT_EQ(index.first(), 9U);
  EXPECT_EQ(index.count(), 1U);
  EXPECT_TRUE(index.insert(9'999));
  index.clear();
  EXPECT_EQ(index, BitsetIndex(10'000));
}

TEST(BitsetIndexDeathTest, RefusesAMemberBeyondItsSize) {
  BitsetIndex index(10);
  EXPECT_DEATH_IF_SUPPORTED(index.insert(10), "below its size");
}

}  // namespace
}  // namespace orrery
