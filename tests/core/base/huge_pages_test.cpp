#include "core/base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace orrery {
namespace {

bool begins_a_huge_page(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % kHugePage == 0;
}

TEST(HugePages, AListThatGrowsIntoThemKeepsItsValues) {
  LargeVector<std::uint64_t> list;
  constexpr std::uint64_t kCount = 3 * kHugePage / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < kCount; ++i) list.push_back(i);
  EXPECT_TRUE(begins_a_huge_page(list.data()));
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(list[i], i);
  const LargeVector<std::uint64_t> copy = list;
  EXPECT_EQ(copy, list);
  list = LargeVector<std::uint64_t>(3);  // Small again.
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), std::uint64_t{0}), 0u);
}

TEST(HugePages, WhatIsAlignedStaysSoWhateverItsSize) {
  struct alignas(64) Line {
    std::uint64_t words[8];
  };

  for (const std::size_t count : {std::size_t{1}, std::size_t{100}, kHugePage / sizeof(Line)}) {
    const LargeVector<Line> lines(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines.data()) % alignof(Line), 0u) << count;
  }
}

}  // namespace
}  // namespace orrery
