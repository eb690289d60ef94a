#include "sim/traces/philly_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/support/text_of_file.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kPhillyHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n";

Result<Trace> parse_csv(const std::string& rows, const TraceOptions& options = {}) {
  return parse_philly_csv(std::string(kPhillyHeader) + rows, "philly.csv", options);
}

TEST(PhillyCsv, RowsAreSortedByTimeAndThenByTheirPlaceInTheFile) {
  const auto trace = parse_csv(
      "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
      "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n"
      "2017-10-09 07:01:55,5.5,2,11.0,aaaaaa\n");
  ASSERT_TRUE(trace.has_value());
  ASSERT_THAT(trace->jobs, SizeIs(3));
  EXPECT_EQ(trace->jobs[0].name, "line-3");
  EXPECT_EQ(trace->jobs[0].submit, Instant::zero());
  EXPECT_EQ(trace->jobs[0].gpus, 8);
  EXPECT_EQ(trace->jobs[0].vc, "6214e9");
  EXPECT_EQ(trace->jobs[1].name, "line-2");
  EXPECT_EQ(trace->jobs[1].submit.in_seconds(), 48 * 60 + 52);
  EXPECT_EQ(trace->jobs[2].name, "line-4");
  EXPECT_EQ(trace->jobs[2].duration, Duration::milliseconds(5500));
  EXPECT_EQ(trace->jobs[2].status, TraceStatus::Unknown);
  EXPECT_EQ(trace->origin.ns / 1'000'000'000, 1'507'529'583 + 7 * 3600);
}

TEST(PhillyCsv, ColumnsAreFoundByNameAndLineEndsMayBeOfEitherKind) {
  const auto trace = parse_philly_csv(
      "cluster,extra,num_gpus,duration,timestamp\r\nvc,x,4,10,2017-10-09 06:13:03\r\n", "f", {});
  ASSERT_TRUE(trace.has_value());
  ASSERT_THAT(trace->jobs, SizeIs(1));
  EXPECT_EQ(trace->jobs[0].gpus, 4);
  EXPECT_EQ(trace->jobs[0].vc, "vc");
  EXPECT_EQ(trace->report.format, "philly");  // As --format calls it.
}

TEST(PhillyCsv, ExactDuplicatesAreJobsUnlessDropped) {
  const std::string rows =
      "2017-10-09 07:01:55,66.0,1,66.0,a\n"
      "2017-10-09 07:01:55,66.0,1,66.0,a\n"
      "2017-10-09 07:01:55,66.0,1,66.0,b\n";
  const auto kept = parse_csv(rows);
  EXPECT_THAT(kept->jobs, SizeIs(3));
  EXPECT_EQ(kept->report.counted(TraceReason::ExactDuplicate, TraceAction::Kept), 1U);
  const auto dropped = parse_csv(rows, {.duplicates = OddRows::Drop});
  EXPECT_THAT(dropped->jobs, SizeIs(2));
  EXPECT_EQ(dropped->report.counted(TraceReason::ExactDuplicate, TraceAction::Dropped), 1U);
}

TEST(PhillyCsv, EveryRowIsAJobOrCountedAsDropped) {
  const std::string rows =
      "2017-11-05 01:30:00,60,1,60,a\n"
      "\n"
      "2018-03-11 02:30:00,0.25,1,0.25,a\n"
      "2017-11-06 01:30:00,60,0,0,a\n";
  const auto trace = parse_csv(rows);
  ASSERT_TRUE(trace.has_value());
  const TraceReport& report = trace->report;
  EXPECT_EQ(report.rows, 3U);
  EXPECT_EQ(report.jobs, 2U);
  EXPECT_EQ(report.dropped(), 1U);
  EXPECT_EQ(report.counted(TraceReason::ZeroGpus, TraceAction::Dropped), 1U);
  EXPECT_EQ(report.counted(TraceReason::AmbiguousHour, TraceAction::Altered), 1U);
  EXPECT_EQ(report.counted(TraceReason::SkippedHour, TraceAction::Altered), 1U);
  EXPECT_EQ(report.counted(TraceReason::ZeroDuration, TraceAction::Altered), 1U);
  EXPECT_EQ(trace->jobs[1].duration, Duration::seconds(1));
  const auto all = parse_csv(rows, {.zero_gpus = OddRows::Keep});
  EXPECT_EQ(all->jobs.size(), 3U);
  EXPECT_EQ(all->report.counted(TraceReason::ZeroGpus, TraceAction::Kept), 1U);
}

TEST(PhillyCsv, NoDurationIsASecondAndBlanksAndQuotesAroundFieldsGo) {
  const auto trace = parse_philly_csv(
      "\"timestamp\", duration,num_gpus ,\"gpu_time\",cluster\n"
      "2017-10-09 07:01:55, 0, 1,0,\"a\"\n\"2017-10-09 07:01:56\",6,\"2\", 12 , b\n",
      "philly.csv");
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(1));
  EXPECT_EQ(trace->jobs[0].vc, "a");
  EXPECT_EQ(trace->jobs[1].gpus, 2);
  EXPECT_EQ(trace->jobs[1].vc, "b");
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroDuration, TraceAction::Altered), 1U);
}

TEST(PhillyCsv, EveryBrokenLineIsReportedWithItsNumberAtOnce) {
  const auto trace = parse_csv(
      "2017-10-09 07:01:55,66.0,1,66.0,a\n"
      "2017-10-39 07:01:55,66.0,1,66.0,a\n"
      "2017-10-09 07:01:55,-1,1,-1,a\n"
      "2017-10-09 07:01:55,66.0,1.5,66.0,a\n"
      "2017-10-09 07:01:55,66.0,1\n"
      "2017-10-09 07:01:55,66.0,2,66.0,a\n"
      "2017-10-09 07:01:55,inf,1,inf,a\n");
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(6));
  EXPECT_EQ(trace.errors()[0].text(),
            "philly.csv:3: timestamp: found '2017-10-39 07:01:55', but a date and time of the "
            "calendar is needed; write it as 2017-10-09 07:01:55");
  EXPECT_EQ(trace.errors()[1].text(),
            "philly.csv:4: duration: found '-1', but seconds from 0 to 100 years are needed; "
            "correct or delete the line");
  EXPECT_THAT(trace.errors()[2].text(), HasSubstr("philly.csv:5: num_gpus: found '1.5'"));
  EXPECT_THAT(trace.errors()[3].text(), HasSubstr("philly.csv:6: row: found 3 fields"));
  EXPECT_THAT(trace.errors()[4].text(),
              HasSubstr("philly.csv:7: gpu_time: found '66.0', but duration x num_gpus is 132"));
  EXPECT_THAT(trace.errors()[5].text(), HasSubstr("philly.csv:8: duration: found 'inf'"));
}

TEST(PhillyCsv, AFileFullOfErrorsIsCutAtTwenty) {
  std::string rows;
  for (int i = 0; i < 30; ++i) rows += "broken\n";
  const auto trace = parse_csv(rows);
  ASSERT_THAT(trace.errors(), SizeIs(kTraceErrorsMax + 1));
  EXPECT_EQ(trace.errors().back().text(),
            "philly.csv: 10 more errors are not shown; mend those above first");
}

TEST(PhillyCsv, AForeignFileIsToldByItsHeader) {
  const auto trace = parse_philly_csv("job,time\n1,2\n", "f.csv", {});
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(4));
  EXPECT_THAT(trace.errors()[0].text(),
              HasSubstr("f.csv:1: header: found 'job,time', but a column timestamp is needed"));
  EXPECT_FALSE(parse_philly_csv("", "f.csv", {}).has_value());
}

TEST(PhillyCsv, AColumnThatIsNamedTwiceIsRefused) {
  const auto trace =
      parse_philly_csv("timestamp,duration,num_gpus,duration,cluster\n", "f.csv", {});
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(1));
  EXPECT_THAT(trace.errors()[0].text(),
              HasSubstr("f.csv:1: header: names the column duration twice"));
}

TEST(PhillyCsv, AHeaderAloneIsAnEmptyTrace) {
  const auto trace = parse_csv("");
  ASSERT_TRUE(trace.has_value());
  EXPECT_TRUE(trace->jobs.empty());
  EXPECT_EQ(trace->report.rows, 0U);
}

TEST(PhillyCsv, ThePublishedExtractIsReadWhole) {
  const std::filesystem::path path =
      std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/traces/pollux/philly.csv";
  const std::string text = text_of_file(path);
  if (text.empty())
    GTEST_SKIP() << "the Philly extract is not at ../shared/traces/pollux/philly.csv";
  const auto trace = parse_philly_csv(text, "philly.csv");
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  EXPECT_EQ(trace->report.rows, 82'247U);
  EXPECT_EQ(trace->jobs.size(), 82'247U);
  EXPECT_EQ(trace->report.counted(TraceReason::ExactDuplicate, TraceAction::Kept), 65U);
  EXPECT_EQ(trace->report.counted(TraceReason::AmbiguousHour, TraceAction::Altered), 7U);
  std::map<int, int> by_gpus;
  double gpu_hours = 0.0;
  for (const TraceJob& job : trace->jobs) {
    ++by_gpus[job.gpus];
    gpu_hours += job.gpus * job.duration.in_seconds() / 3600;
  }
  const std::map<int, int> wanted = {{1, 76'627},
                                     {2, 1'818},
                                     {4, 1'870},
                                     {8, 1'643},
                                     {12, 7},
                                     {16, 199},
                                     {24, 7},
                                     {32, 67},
                                     {64, 6},
                                     {128, 3}};
  EXPECT_EQ(by_gpus, wanted);
  EXPECT_NEAR(gpu_hours, 978'078, 0.6);
  // 2017-09-04 10:30:41 to 2017-12-22 08:02:11 on the wall, and the hour gained in November.
  EXPECT_EQ(trace->jobs.back().submit.in_seconds(), 9'408'690 + 3600);
  // The first of the jobs and the last, which stand anywhere.
  std::string two = text.substr(0, text.find('\n'));
  for (const char* const begins : {"\n2017-09-04 10:30:41", "\n2017-12-22 08:02:11"}) {
    const std::size_t at = text.find(begins);
    ASSERT_NE(at, std::string::npos);
    two += text.substr(at, text.find('\n', at + 1) - at);
  }
  const auto naive = parse_philly_csv(two + "\n", "philly.csv", {.zone = TraceZone::None});
  EXPECT_EQ(naive->jobs.back().submit.in_seconds(), 9'408'690);
}

}  // namespace
}  // namespace orrery::sim
