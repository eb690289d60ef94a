#include "core/base/plain_array.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
namespace {

std::vector<std::uint32_t> list_of(const PlainArray<std::uint32_t>& array) {
  return {array.begin(), array.end()};
}

TEST(PlainArray, DoesWhatAListDoes) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  PlainArray<std::uint32_t> array;
  std::vector<std::uint32_t> list;
  for (int k = 0; k < 3000; ++k) {
    const auto value = static_cast<std::uint32_t>(random.below(1000));
    const auto count = static_cast<std::size_t>(random.below(40));
    switch (random.below(6)) {
      case 0:
        array.resize(list.size() + count, value);
        list.resize(list.size() + count, value);
        break;
      case 1:
        if (count > list.size()) break;
        array.erase_front(count);
        list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
        break;
      case 2:
        array.insert_front(count, value);
        list.insert(list.begin(), count, value);
        break;
      case 3:
        if (k % 50 != 0) break;
        array.assign(count, value);
        list.assign(count, value);
        break;
      default:
        array.push_back(value);
        list.push_back(value);
    }
    ASSERT_EQ(list_of(array), list) << "after step " << k;
  }
}

TEST(PlainArray, ACopyIsItsOwn) {
  PlainArray<std::uint32_t> array(100, 7);
  PlainArray<std::uint32_t> copy = array;
  array[5] = 1;
  array.push_back(2);
  EXPECT_EQ(copy.size(), 100u);
  EXPECT_EQ(copy[5], 7u);
  copy = PlainArray<std::uint32_t>(3, 1);
  EXPECT_EQ(list_of(copy), (std::vector<std::uint32_t>{1, 1, 1}));
  copy = array;
  EXPECT_EQ(list_of(copy), list_of(array));
  const PlainArray<std::uint32_t> moved = std::move(copy);
  EXPECT_EQ(list_of(moved), list_of(array));
}

TEST(PlainArray, AnEmptyOneIsCopied) {
  const PlainArray<std::uint32_t> none;
  PlainArray<std::uint32_t> copy = none;
  EXPECT_TRUE(copy.empty());
  copy.push_back(1);
  copy = none;
  EXPECT_TRUE(copy.empty());
}

}  // namespace
}  // namespace orrery
