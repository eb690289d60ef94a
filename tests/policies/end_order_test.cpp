#include "policies/end_order.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/random.hpp"

namespace orrery::policies {
namespace {

EndKey draw(Random& random) {
  return {Instant{static_cast<std::int64_t>(random.below(300))},
          JobId{static_cast<std::uint32_t>(random.below(40))}};
}

void expect_equal(const EndOrder& order, const std::set<EndKey>& expected) {
  EndOrder::Place place = order.begin();
  for (const EndKey& key : expected) {
    ASSERT_FALSE(place == order.end());
    ASSERT_EQ(order.at(place).at, key.at);
    ASSERT_EQ(order.at(place).job, key.job);
    const EndOrder::Place next = order.next(place);
    ASSERT_EQ(order.after(key), next);
    ASSERT_EQ(order.previous(next), place);
    place = next;
  }
  ASSERT_EQ(place, order.end());
}

TEST(EndOrder, IsTraversedLikeASetWhateverWasInsertedAndErased) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  EndOrder order;
  std::set<EndKey> expected;
  for (int i = 0; i < 30'000; ++i) {
    const EndKey key = draw(random);
    // Grows to thousands of keys, so that chunks split, then shrinks until chunks run empty.
    const double growth = i < 15'000 ? 0.9 : 0.1;
    if (random.chance(growth)) {
      if (expected.insert(key).second) order.insert(key);
    } else if (expected.erase(key) > 0) {
      order.erase(key);
    }
    if (i % 1000 == 0) expect_equal(order, expected);
  }
}

TEST(EndOrder, AnEmptyOneEndsWhereItBegins) {
  EndOrder order;
  EXPECT_EQ(order.begin(), order.end());
  EXPECT_EQ(order.after({Instant{5}, JobId{1}}), order.end());
}

}  // namespace
}  // namespace orrery::policies
