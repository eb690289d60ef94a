#include "core/state/sorted_ids.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/random.hpp"

namespace orrery {
namespace {

TEST(SortedIds, ReadsLikeASetWhateverTheOrderOfChanges) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  SortedIds ids;
  std::set<JobId> expected;
  for (int i = 0; i < 20'000; ++i) {
    const JobId job{static_cast<std::uint32_t>(random.below(500))};
    if (random.chance(0.5)) {
      ids.insert(job);
      expected.insert(job);
    } else {
      ids.erase(job);
      expected.erase(job);
    }
    if (!random.chance(0.05)) continue;
    ASSERT_EQ(ids.list(), std::vector<JobId>(expected.begin(), expected.end())) << i;
  }
}

TEST(SortedIds, TheLastChangeOfAJobCounts) {
  SortedIds ids;
  ids.insert(JobId{3});
  ids.erase(JobId{3});
  ids.insert(JobId{2});
  ids.insert(JobId{2});
  EXPECT_EQ(ids.list(), std::vector<JobId>{JobId{2}});
}

}  // namespace
}  // namespace orrery
