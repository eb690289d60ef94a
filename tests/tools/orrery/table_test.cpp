#include "tools/console/table.hpp"

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

Table sample() {
  Table table({{.title = "policy", .left = true},
               {"JCT (h)", Better::Lower},
               {"use (%)", Better::Higher},
               {"moves"}});
  table.add_row({{"fifo"}, {"12.50", 12.5}, {"80.0", 80}, {"0"}});
  table.add_row({{"srtf/1"}, {"3.25 ±0.1", 3.25}, {"80.0", 80}, {"7"}});
  return table;
}

TEST(Table, ColumnsAreAlignedAndLinesHaveNoTrailingSpace) {
  EXPECT_EQ(sample().text(false),
            "policy    JCT (h)  use (%)  moves\n"
            "fifo        12.50     80.0      0\n"
            "srtf/1  3.25 ±0.1     80.0      7\n");
}

TEST(Table, TheBestValueIsMarkedWhereRowsDiffer) {
  EXPECT_EQ(sample().text(true),
            "policy    JCT (h)  use (%)  moves\n"
            "fifo        12.50     80.0      0\n"
            "srtf/1  \x1b[1;32m3.25 ±0.1\x1b[0m     80.0      7\n");
}

TEST(Table, SpareColumnsAreLeftOutWhereTheTableIsTooWide) {
  Table table({{.title = "policy", .left = true},
               {.title = "much", .spare = 1},
               {.title = "more", .spare = 2},
               {"last"}});
  table.add_row({{"fifo"}, {"1"}, {"2"}, {"3"}});
  EXPECT_EQ(table.text(false, 24), "policy  much  more  last\nfifo       1     2     3\n");
  EXPECT_EQ(table.text(false, 23), "policy  much  last\nfifo       1     3\n");
  EXPECT_EQ(table.text(false, 17), "policy  last\nfifo       3\n");
  EXPECT_EQ(table.text(false, 1), "policy  last\nfifo       3\n");
}

TEST(Table, NumbersHaveCommasBetweenThousands) {
  EXPECT_EQ(with_commas(0, 0), "0");
  EXPECT_EQ(with_commas(999, 0), "999");
  EXPECT_EQ(with_commas(82247, 0), "82,247");
  EXPECT_EQ(with_commas(-1234567.891, 2), "-1,234,567.89");
}

TEST(Table, TimesReadInTheUnitOfTheirSize) {
  EXPECT_EQ(time_in_words(0.4), "0 s");
  EXPECT_EQ(time_in_words(200), "3 min 20 s");
  EXPECT_EQ(time_in_words(3600 * 5 + 720), "5 h 12 min");
  EXPECT_EQ(time_in_words(86400 * 12), "12 d");
}

}  // namespace
}  // namespace orrery::cli
