#include "sim/traces/lanl_failures.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "tests/support/text_of_file.hpp"

namespace orrery::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kLanlHeader =
    "System ,nodes,nodenumz,fru type,Prob Started,Prob Fixed,Down Time,Facilities,Hardware,"
    "Human Error,Network,Undetermined,Software,Same Event\n";

Result<LanlRecords> parse_records(const std::string& rows) {
  return parse_lanl_failures(std::string(kLanlHeader) + rows, "lanl.csv");
}

std::vector<std::string> errors_of(const std::string& rows) {
  std::vector<std::string> texts;
  const auto records = parse_records(rows);
  if (!records)
    for (const Error& error : records.errors()) texts.push_back(error.text());
  return texts;
}

TEST(LanlFailures, ARowIsANodeThatWasDown) {
  const auto records = parse_records(
      "20,512,7,part,1/1/2003 0:05,1/1/2003 2:20,135,,Memory Dimm,,,,,No\r\n\n"
      "2,49,0,part,12/31/2003 23:00,1/1/2004 1:00,120,,,,,,\"Node, or \"\"firmware\"\"\",No\n");
  ASSERT_TRUE(records.has_value());
  const auto& failures = records->failures;
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].system, 20);
  EXPECT_EQ(failures[0].nodes, 512);
  EXPECT_EQ(failures[0].node, 7);
  EXPECT_EQ(failures[0].started.ns / 1'000'000'000, 1041379500) << "2003-01-01 00:05";
  EXPECT_EQ(failures[0].down, Duration::seconds(135 * 60));
  EXPECT_EQ(failures[0].cause, LanlCause::Hardware);
  EXPECT_EQ(failures[1].cause, LanlCause::Software);
  EXPECT_EQ(failures[1].detail, "Node, or \"firmware\"");
}

TEST(LanlFailures, OdditiesAreKeptAndCounted) {
  const auto records = parse_records(
      "17,,,,1/8/1997 8:40,1/8/1997 8:50,10,,Other,,,,,No\n"
      "20,512,0,,1/8/2003 8:40,1/8/2003 8:40,0,,,,,,,No\n"
      "20,512,0,,4/6/2003 1:00,4/6/2003 4:00,120,,,,Network,,,No\n");
  ASSERT_TRUE(records.has_value());
  EXPECT_EQ(records->failures[0].node, -1);
  EXPECT_EQ(records->counted(LanlOddity::NoNode), 1U);
  EXPECT_EQ(records->counted(LanlOddity::NoCause), 1U);
  EXPECT_EQ(records->counted(LanlOddity::ZeroDownTime), 1U);
  EXPECT_EQ(records->counted(LanlOddity::TimesDisagree), 1U);
  EXPECT_EQ(records->failures[2].down, Duration::seconds(7200)) << "the down time counts";
  EXPECT_THAT(oddities_text(*records), HasSubstr("zero down time"));
}

TEST(LanlFailures, ErrorsNameLineAndColumn) {
  EXPECT_THAT(
      errors_of("x,512,0,,1/8/2003 8:40,1/8/2003 8:40,0,,,,,,,No\n"
                "20,512,-1,,1/8/2003 8:40,1/8/2003 8:40,0,,,,,,,No\n"
                "20,512,0,,2/30/2003 8:40,1/8/2003 8:40,0,,,,,,,No\n"
                "20,512,0,,1/9/2003 8:40,1/8/2003 8:40,0,,,,,,,No\n"
                "20,512,0,,1/9/2003 8:40,1/9/2003 8:40,-1,,,,,,,No\n"
                "20,512,0,,1/9/2003 8:40,1/9/2003 8:40,0,a,b,,,,,No\n"
                "20,512,0\n"),
      ElementsAre(
          "lanl.csv:2: System: found 'x', but a whole number from 1 to 100 is needed; "
          "correct or delete the line",
          HasSubstr("lanl.csv:3: nodenumz: found '-1', but a whole number from 0 to 999999"),
          HasSubstr("lanl.csv:4: Prob Started: found '2/30/2003 8:40'"),
          HasSubstr("lanl.csv:5: Prob Fixed: found '1/8/2003 8:40', before its start"),
          HasSubstr("lanl.csv:6: Down Time: found '-1'"),
          HasSubstr("lanl.csv:7: Hardware: found 'b' beside 'a'"),
          HasSubstr("lanl.csv:8: row: found 3 fields")));
  const auto records = parse_lanl_failures("System,nodes\n", "lanl.csv");
  ASSERT_FALSE(records.has_value());
  EXPECT_EQ(records.errors().size(), 10U) << "each missing column";
}

TEST(LanlFailures, AColumnThatIsNamedTwiceIsRefused) {
  const std::string header(kLanlHeader.substr(0, kLanlHeader.size() - 1));
  const auto records = parse_lanl_failures(header + ",Down Time\n", "lanl.csv");
  ASSERT_FALSE(records.has_value());
  ASSERT_EQ(records.errors().size(), 1U);
  EXPECT_THAT(records.errors()[0].text(),
              HasSubstr("lanl.csv:1: header: names the column Down Time twice"));
}

TEST(LanlFailures, AreToldFromJobTraces) {
  EXPECT_TRUE(looks_like_lanl("System," + std::string(kLanlHeader.substr(8))));
  EXPECT_FALSE(looks_like_lanl("timestamp,duration,num_gpus,gpu_time,cluster\n"));
  EXPECT_FALSE(looks_like_lanl(""));
}

TEST(LanlFailures, TheReleasedFileHasTheKnownCounts) {
  const auto path = std::filesystem::path(ORRERY_SOURCE_ROOT) /
                    "../shared/traces/failures/LA-UR-05-7318-failure-data-1996-2005.csv";
  const std::string text = text_of_file(path);
  if (text.empty()) GTEST_SKIP() << "the LANL records are not at ../shared/traces/failures";
  EXPECT_TRUE(looks_like_lanl(text));
  const auto records = parse_lanl_failures(text, "lanl.csv");
  ASSERT_TRUE(records.has_value()) << records.errors().front().text();
  const LanlSummary summary = summarise(*records);
  EXPECT_EQ(summary.records, 23'739U);
  EXPECT_THAT(summary.by_cause, ElementsAre(362, 14'341, 149, 421, 2'652, 5'361, 453));
  EXPECT_EQ(summary.hardware.at("CPU"), 5'931U);
  EXPECT_EQ(summary.hardware.at("Memory Dimm"), 2'880U);
  EXPECT_EQ(summary.by_system.at(20), 2'478U);
  EXPECT_EQ(summary.median, Duration::seconds(59 * 60));
  EXPECT_EQ(summary.p99, Duration::seconds(3'781 * 60));
  EXPECT_EQ(summary.longest, Duration::seconds(319'482 * 60));
  EXPECT_EQ(records->counted(LanlOddity::NoNode), 126U);
  EXPECT_EQ(records->counted(LanlOddity::NodeBeyond), 126U);
  EXPECT_EQ(records->counted(LanlOddity::NoCause), 453U);
  EXPECT_EQ(records->counted(LanlOddity::TimesDisagree), 24U);
  EXPECT_THAT(summary.text(), HasSubstr("from 1995-05-19 to 2005-09-09"));
}

}  // namespace
}  // namespace orrery::sim
