#include "core/placement/rank_text.hpp"

#include <gtest/gtest.h>

#include "core/placement/rank_list.hpp"

namespace orrery::placement {
namespace {

TEST(RankText, RangesAreReadWithBlanksInside) {
  EXPECT_EQ(read_range("7").range, (RankRange{7, 7}));
  EXPECT_EQ(read_range("0-3").range, (RankRange{0, 3}));
  EXPECT_EQ(read_range("0 \t- 3").range, (RankRange{0, 3}));
  EXPECT_EQ(read_range("007").range, (RankRange{7, 7}));
  EXPECT_FALSE(read_range("0-3").fault);
  EXPECT_TRUE(read_range("aLL").all);
}

TEST(RankText, WhatIsNoRangeIsRefused) {
  for (const char* text : {"-",
                           "-1",
                           "1-",
                           "0-3-5",
                           "0--3",
                           "+1",
                           "1_0",
                           "1.0",
                           "0x1",
                           "1 2",
                           "al",
                           "alll",
                           "all-3",
                           "e",
                           "0-all",
                           "\x80",
                           "１"}) {
    EXPECT_EQ(read_range(text).fault, ErrorKind::RankFormat) << text;
    EXPECT_FALSE(read_range(text).all) << text;
  }
  EXPECT_EQ(read_range("3-0").fault, ErrorKind::RangeReversed);
  EXPECT_EQ(read_range("3-0").range, (RankRange{0, 3}));
}

TEST(RankText, HugeNumbersAreCappedNotWrapped) {
  EXPECT_EQ(read_range("99999999999999999999999999999999").range.first, kRankCeiling);
  EXPECT_EQ(read_range("18446744073709551616").range.first, kRankCeiling);
  EXPECT_EQ(read_range("0-9223372036854775808").range, (RankRange{0, kRankCeiling}));
  EXPECT_EQ(read_range("99999999999999999999-3").fault, ErrorKind::RangeReversed);
}

TEST(RankText, PiecesKnowTheirPlaces) {
  const auto pieces = split_trimmed({" a, ,b ", 10}, ',');
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].text, "a");
  EXPECT_EQ(pieces[0].offset, 11U);
  EXPECT_EQ(pieces[1].text, "");
  EXPECT_EQ(pieces[2].text, "b");
  EXPECT_EQ(pieces[2].offset, 15U);
}

TEST(RankText, QuotedTextsAreShortAndPrintable) {
  EXPECT_EQ(in_quotes("a\nb"), "'a?b'");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
  // 59 bytes and a character of three: it is left out whole.
  EXPECT_EQ(in_quotes(std::string(59, 'x') + "１２"), "'" + std::string(59, 'x') + "...'");
  EXPECT_EQ(counted(1, "process"), "1 process");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
}

TEST(RankList, NodesOfAGroup) {
  PlacementErrors errors;
  const ErrorSink sink(errors, Stage::Config, "node group 'a'");
  const std::vector<std::int32_t> cluster{0, 1, 2, 3, 4, 5};
  const auto pick = [&](const char* text) {
    const auto list = read_rank_list({text, {2, 1}}, sink);
    return list ? pick_ranks(*list, cluster) : std::vector<std::int32_t>{};
  };
  EXPECT_EQ(pick("all"), cluster);
  EXPECT_EQ(pick("3,1"), (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(pick("0-2, 1-3,,2"), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(errors.empty());
  // As in RLinf, "all" stands alone; an empty list is none.
  EXPECT_TRUE(pick("0,all").empty());
  EXPECT_TRUE(pick(" , ").empty());
  EXPECT_EQ(errors.size(), 2U);
}

TEST(RankList, RangesOutsideAreFoundWithoutExpandingThem) {
  PlacementErrors errors;
  const ErrorSink sink(errors, Stage::Config, "node group 'a'");
  const auto list = read_rank_list({"0,2-4000000000,5", {2, 1}}, sink);
  ASSERT_TRUE(list);
  const auto outside = ranges_outside(*list, {0, 2, 3, 5});
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_EQ(outside[0].offset, 2U);
}

}  // namespace
}  // namespace orrery::placement
