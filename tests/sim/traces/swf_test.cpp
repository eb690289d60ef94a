#include "sim/traces/swf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(Swf, FieldsOfARowBecomeAJob) {
  const auto trace = parse_swf(
      "; Computer: any\n; UnixStartTime: 1000000000\n"
      "  7   100.5  12 61.00 16 -1 -1  32 43200 819200  5   6   1  -1  2  3 -1 -1\n",
      "log.swf");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(1));
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.name, "7");
  EXPECT_EQ(trace->origin.ns, 1'000'000'100'500'000'000);
  EXPECT_EQ(job.duration, Duration::seconds(61));
  EXPECT_EQ(job.waited, Duration::seconds(12));
  EXPECT_EQ(job.gpus, 32);
  EXPECT_EQ(job.gpu_milli, 32'000);
  EXPECT_EQ(job.estimate, Duration::seconds(43'200));
  EXPECT_EQ(job.memory_mib, 819'200 * 32 / 1024);
  EXPECT_EQ(job.status, TraceStatus::Killed);
  EXPECT_EQ(job.user, "6");
  EXPECT_EQ(job.kind, "2");
  EXPECT_EQ(job.vc, "3");
}

TEST(Swf, EachOfTheSizesStandsInForTheOther) {
  const auto trace = parse_swf(
      "1 0 -1 5 4 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "2 0 -1 5 -1 -1 -1 8 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n",
      "log.swf");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->jobs[0].gpus, 4);
  EXPECT_EQ(trace->jobs[1].gpus, 8);
  EXPECT_EQ(trace->report.counted(TraceReason::OtherSizeField, TraceAction::Altered), 1U);
  EXPECT_FALSE(trace->jobs[0].waited.has_value());
  EXPECT_FALSE(trace->jobs[0].estimate.has_value());
}

TEST(Swf, WhatIsMissingDropsARowForOneReason) {
  const auto trace = parse_swf(
      "1 -1 0 5 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "2 0 0 -1 4 -1 -1 4 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n"
      "3 0 0 5 0 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "4 -0.0 -0.0 0 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
      "log.swf");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(1));
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(1));
  EXPECT_EQ(trace->jobs[0].waited, Duration::zero());
  EXPECT_EQ(trace->report.counted(TraceReason::NoSubmitTime, TraceAction::Dropped), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::NoRunTime, TraceAction::Dropped), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::NoSize, TraceAction::Dropped), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroDuration, TraceAction::Altered), 1U);
}

TEST(Swf, NothingIsSubmittedAfterTheLastTimeOfATrace) {
  const std::string row = " 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
  const std::string start = "; UnixStartTime: 4102444700\n";
  EXPECT_TRUE(parse_swf(start + "1 100" + row, "log.swf").has_value());
  const auto refused = parse_swf(start + "1 101" + row, "log.swf");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.errors().front().text(), testing::HasSubstr("from 0 to 100"));
}

TEST(Swf, AnIdUsedTwiceGetsANumber) {
  const auto trace = parse_swf(
      "1 0 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "1 0 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
      "log.swf");
  expect_accounted(trace);
  EXPECT_EQ(trace->jobs[1].name, "1-2");
  EXPECT_EQ(trace->report.counted(TraceReason::ExactDuplicate, TraceAction::Kept), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::NameUsedBefore, TraceAction::Altered), 1U);
}

TEST(Swf, AMissingIdIsTheNumberOfTheRow) {
  const auto trace = parse_swf(
      "1 0 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "-1 0 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
      "log.swf");
  expect_accounted(trace);
  EXPECT_EQ(trace->jobs[1].name, "row-2");
}

TEST(Swf, StretchesOfAJobAreDroppedWhereItsWholeIsThere) {
  const auto line = [](const std::string& id, int status, int run) {
    return id + " 0 0 " + std::to_string(run) + " 4 -1 -1 4 -1 -1 " + std::to_string(status) +
           " -1 -1 -1 -1 -1 -1 -1\n";
  };
  const auto trace =
      parse_swf(line("1", 1, 30) + line("1", 2, 10) + line("1", 3, 20) + line("2", 2, 5) +
                    line("2", 4, 6) + line("2.0", 0, 11) + line("3", 2, 7) + line("3", 3, 8) +
                    line("4", 1, 9) + "; 3 0 0 7 4 -1 -1 4 -1 -1 1\n",
                "log.swf");
  expect_accounted(trace);
  EXPECT_EQ(trace->report.counted(TraceReason::PartOfJob, TraceAction::Dropped), 4U);
  EXPECT_EQ(trace->report.counted(TraceReason::NameUsedBefore, TraceAction::Altered), 1U);
  std::map<std::string, std::int64_t> run_s;
  for (const TraceJob& job : trace->jobs) run_s[job.name] = job.duration.ns / 1'000'000'000;
  EXPECT_EQ(
      run_s,
      (std::map<std::string, std::int64_t>{{"1", 30}, {"2", 11}, {"3", 7}, {"3-2", 8}, {"4", 9}}));
}

TEST(Swf, BrokenRowsAreErrorsWithTheirLine) {
  const auto trace =
      parse_swf("; a comment\n1 2 3\n1 x 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", "log.swf");
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(2));
  EXPECT_THAT(trace.errors()[0].text(), HasSubstr("log.swf:2: row: found 3 fields"));
  EXPECT_THAT(trace.errors()[1].text(), HasSubstr("log.swf:3: submit time: found 'x'"));
}

TEST(Swf, ThePublicSamplesAreReadWhole) {
  if (!shared_trace("swf/README.md")) GTEST_SKIP() << "the samples are not at ../shared/traces/swf";
  for (const auto& [name, jobs] : {std::pair("swf/easy_mediumWL_smallPF.swf", 800U),
                                   std::pair("swf/filler_mediumWL_smallPF.swf", 800U),
                                   std::pair("swf/accasim_test_workload.swf", 25U)}) {
    const auto trace = read_shared(name);
    expect_accounted(trace);
    EXPECT_EQ(trace->report.format, "swf");
    EXPECT_EQ(trace->report.rows, jobs) << name;
    EXPECT_EQ(trace->jobs.size(), jobs) << name;
  }
  const auto trace = read_shared("swf/accasim_test_workload.swf");
  EXPECT_EQ(trace->origin.ns / 1'000'000'000, 561'553);
  EXPECT_EQ(trace->jobs[1].waited, Duration::seconds(129'908));
}

}  // namespace
}  // namespace orrery::sim
