#include "core/base/sparse_array.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>

#include "core/base/random.hpp"

namespace orrery {
namespace {

TEST(SparseArray, ElementsAreMadeAtTheFirstLook) {
  SparseArray<int> array;
  EXPECT_EQ(array.find(0), nullptr);
  EXPECT_EQ(array.find(1'000'000'000), nullptr);
  array[1000] = 7;
  ASSERT_NE(array.find(1000), nullptr);
  EXPECT_EQ(*array.find(1000), 7);
  EXPECT_EQ(array.find(0), nullptr);
  EXPECT_EQ(array[3], 0);
}

TEST(SparseArray, ReferencesStayGoodUntilItIsCleared) {
  SparseArray<std::string> array;
  std::string& first = array[5];
  for (std::size_t i = 0; i < 10'000; i += 7) array[i] = std::to_string(i);
  first = "here";
  EXPECT_EQ(array[5], "here");
  EXPECT_EQ(&array[5], &first);
  array.clear();
  EXPECT_EQ(array.find(5), nullptr);
  EXPECT_EQ(array[5], "");
}

TEST(SparseArray, KeepsWhatWasPutAnywhere) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  SparseArray<std::uint64_t> array;
  std::map<std::size_t, std::uint64_t> expected;
  for (int k = 0; k < 2000; ++k) {
    const auto at = static_cast<std::size_t>(random.below(50'000));
    expected[at] = array[at] = random.below(1000);
  }
  const SparseArray<std::uint64_t>& read = array;
  for (std::size_t i = 0; i < 50'000; ++i) {
    const std::uint64_t* found = read.find(i);
    const auto put = expected.find(i);
    if (put != expected.end()) {
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(*found, put->second);
    } else if (found != nullptr) {
      EXPECT_EQ(*found, 0u);
    }
  }
}

}  // namespace
}  // namespace orrery
