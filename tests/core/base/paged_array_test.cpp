#include "core/base/paged_array.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace orrery {
namespace {

PagedArray<std::string> filled(std::size_t count) {
  PagedArray<std::string> array;
  for (std::size_t i = 0; i < count; ++i) array.emplace_back() = "element " + std::to_string(i);
  return array;
}

TEST(PagedArray, ReferencesStayGoodAsItGrows) {
  PagedArray<std::string> array;
  std::vector<std::string*> places;
  for (std::size_t i = 0; i < 1000; ++i) {
    places.push_back(&array.emplace_back());
    *places.back() = std::to_string(i);
  }
  ASSERT_EQ(array.size(), 1000u);
  for (std::size_t i = 0; i < array.size(); ++i) {
    EXPECT_EQ(&array[i], places[i]);
    EXPECT_EQ(array[i], std::to_string(i));
  }
}

TEST(PagedArray, ACopyIsItsOwn) {
  PagedArray<std::string> array = filled(200);
  PagedArray<std::string> copy = array;
  array[150] = "changed";
  array.emplace_back();
  EXPECT_EQ(copy.size(), 200u);
  EXPECT_EQ(copy[150], "element 150");
  copy = filled(3);
  EXPECT_EQ(copy.size(), 3u);
  EXPECT_EQ(array.size(), 201u);
}

TEST(PagedArray, OneThatWasMovedFromIsEmpty) {
  PagedArray<std::string> array = filled(65);
  const PagedArray<std::string> taken = std::move(array);
  EXPECT_EQ(taken.size(), 65u);
  EXPECT_EQ(array.size(), 0u);  // NOLINT(bugprone-use-after-move): it may be filled again.
  array.emplace_back() = "first";
  EXPECT_EQ(array[0], "first");
  EXPECT_EQ(taken[64], "element 64");
}

TEST(PagedArray, OneThatIsLargerThanAHugePageKeepsAllItHas) {
  constexpr std::size_t kCount = 100'000;  // Of 32 bytes: blocks of both kinds.
  PagedArray<std::string> array = filled(kCount);
  ASSERT_EQ(array.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(array[i], "element " + std::to_string(i));
}

TEST(PagedArray, IsGoneOverInOrder) {
  PagedArray<int> array;
  EXPECT_EQ(array.begin(), array.end());
  for (int i = 0; i < 1000; ++i) array.emplace_back() = i;
  EXPECT_EQ(array.back(), 999);
  int next = 0;
  for (const int element : array) EXPECT_EQ(element, next++);
  EXPECT_EQ(next, 1000);
}

TEST(PagedArray, EachElementIsDestroyedOnce) {
  const auto counted = std::make_shared<int>();
  {
    PagedArray<std::shared_ptr<int>> array;
    for (int i = 0; i < 1000; ++i) array.emplace_back() = counted;
    PagedArray<std::shared_ptr<int>> moved = std::move(array);
    EXPECT_EQ(counted.use_count(), 1001);
    moved = PagedArray<std::shared_ptr<int>>();
    EXPECT_EQ(counted.use_count(), 1);
    moved.emplace_back() = counted;
    EXPECT_EQ(counted.use_count(), 2);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace orrery
