#include "tools/sweep/cell_list.hpp"

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace orrery::cli {
namespace {

std::vector<std::size_t> numbers(std::string_view text) {
  const auto list = cell_list("--cells", text, 20);
  EXPECT_TRUE(list) << text;
  return list ? *list : std::vector<std::size_t>{};
}

TEST(CellList, RangesAndSingleNumbersInAnyOrderEachOnce) {
  EXPECT_EQ(numbers("3"), (std::vector<std::size_t>{3}));
  EXPECT_EQ(numbers("9,1-3,2"), (std::vector<std::size_t>{1, 2, 3, 9}));
  EXPECT_EQ(numbers("20-20"), (std::vector<std::size_t>{20}));
}

TEST(CellList, AnythingElseIsRefused) {
  for (const char* text : {"",
                           ",",
                           "1,",
                           "0",
                           "0-3",
                           "4-2",
                           "a",
                           "1-",
                           "-3",
                           "1-2-3",
                           " 1",
                           "21",
                           "1-99999999999999999999"})
    EXPECT_FALSE(cell_list("--cells", text, 20)) << text;
  EXPECT_NE(cell_list("--cells", "7-21", 20).errors()[0].message.find("has 20 cells"),
            std::string::npos);
}

TEST(CellList, TextIsTheInverse) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::size_t> some;
    for (std::size_t number = 1; number <= 20; ++number)
      if (random.chance(0.6)) some.push_back(number);
    if (some.empty()) continue;
    EXPECT_EQ(numbers(cell_list_text(some)), some);
  }
  EXPECT_EQ(cell_list_text({1, 2, 3, 7, 9, 10}), "1-3,7,9-10");
}

}  // namespace
}  // namespace orrery::cli
