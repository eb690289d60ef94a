// Helios and Acme; no log of theirs is here, so all rows are invented after their descriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/traces/acme.hpp"
#include "sim/traces/helios.hpp"
#include "sim/traces/orrery_csv.hpp"
#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kHelios =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
    "queue\n";

constexpr std::string_view kSeren =
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
    "queue,gpu_time\n";

constexpr std::string_view kKalos =
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,"
    "submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n";

TEST(Helios, WhatLastsLongerThanAHundredYearsIsTakenAsThat) {
  const auto trace = parse_helios(
      std::string(kHelios) +
          "1,u1,vcA,1,4,1,COMPLETED,1990-06-09 08:00:00,2099-06-09 08:00:00,2099-06-09 "
          "09:00:00,3600,0\n"
          "2,u1,vcA,1,4,1,COMPLETED,1990-06-09 08:00:00,1990-06-09 08:00:00,2099-06-09 "
          "09:00:00,,0\n",
      "cluster_log.csv");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->jobs[0].waited, kTraceDurationMax);
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(3600));
  EXPECT_EQ(trace->jobs[1].duration, kTraceDurationMax);
  EXPECT_EQ(trace->report.counted(TraceReason::TooLong, TraceAction::Altered), 2U);
  const auto back = parse_orrery_csv(orrery_csv(*trace), "own.csv", {});
  ASSERT_TRUE(back.has_value()) << "our own form can be read";
  EXPECT_EQ(back->jobs, trace->jobs);
}

TEST(Helios, OurOwnFormHoldsEveryDate) {
  const auto trace = parse_helios(
      std::string(kHelios) +
          "1,u1,vcA,1,4,1,COMPLETED,2100-12-31 23:59:59,2100-12-31 23:59:59,2100-12-31 "
          "23:59:59,0,0\n",
      "cluster_log.csv");
  expect_accounted(trace);
  const auto back = parse_orrery_csv(orrery_csv(*trace), "own.csv", {});
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->origin, trace->origin);
}

TEST(Helios, TimesAreChinasWallClock) {
  const auto trace = parse_helios(
      std::string(kHelios) +
          "2,u9,vcB,32,160,4,CANCELLED,2020-06-09 18:42:00,2020-06-09 19:42:00,2020-06-12 "
          "19:42:00,259200,3600\n"
          "1,u1,vcA,1,4,1,COMPLETED,2020-06-09 08:00:00,2020-06-09 08:00:00,2020-06-09 "
          "08:00:00,0,0\n",
      "cluster_log.csv");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->origin.ns / 1'000'000'000, 1'591'660'800) << "2020-06-09 00:00 UTC";
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(1));
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroDuration, TraceAction::Altered), 1U);
  const TraceJob& job = trace->jobs[1];
  EXPECT_EQ(job.gpus, 32);
  EXPECT_EQ(job.instances, 4);
  EXPECT_EQ(job.cpu_milli, 160'000);
  EXPECT_EQ(job.vc, "vcB");
  EXPECT_EQ(job.user, "u9");
  EXPECT_EQ(job.status, TraceStatus::Killed);
  EXPECT_EQ(job.duration, Duration::seconds(259'200));
  EXPECT_EQ(job.waited, Duration::seconds(3600));
}

TEST(Helios, EveryStateAndEveryOddRowIsAccountedFor) {
  const auto trace = parse_helios(
      std::string(kHelios) +
          "1,u,v,1,4,1,TIMEOUT,2020-06-09 08:00:00,2020-06-09 08:00:00,2020-06-09 08:00:10,10,0\n"
          "2,u,v,1,4,1,NODE_FAIL,2020-06-09 08:00:01,2020-06-09 08:00:01,2020-06-09 08:00:10,5,0\n"
          "3,u,v,0,4,1,COMPLETED,2020-06-09 08:00:02,2020-06-09 08:00:02,2020-06-09 08:00:10,8,0\n"
          "4,u,v,1,4,1,PENDING,2020-06-09 08:00:03,,,,\n"
          "5,u,v,1,4,1,SUSPENDED,2020-06-09 08:00:04,2020-06-09 08:00:05,,,\n"
          "6,u,v,1,4,1,FAILED,2020-06-09 08:00:05,2020-06-09 08:00:09,2020-06-09 08:00:08,1,4\n",
      "cluster_log.csv",
      kKeepAll);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(4));
  EXPECT_EQ(trace->jobs[0].status, TraceStatus::Killed);
  EXPECT_EQ(trace->jobs[1].status, TraceStatus::Failed);
  EXPECT_TRUE(trace->jobs[3].censored);
  EXPECT_EQ(trace->jobs[3].duration, Duration::seconds(5)) << "until the last time of the log";
  EXPECT_EQ(trace->report.counted(TraceReason::TimesDisagree, TraceAction::Altered), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroGpus, TraceAction::Kept), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::NeverStarted, TraceAction::Dropped), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::EndsBeforeStart, TraceAction::Dropped), 1U);
}

TEST(Acme, KalosDurationsAreTakenFromTheTimes) {
  const auto trace = parse_acme(
      std::string(kKalos) +
          "dA,u1,8,64,960,1000,100.0,Pretrain,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 "
          "11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"
          "dE,u2,4,32,480,1000,100.0,SFT,RUNNING,2023-05-17 11:01:00+00:00,2023-05-17 "
          "11:01:06+00:00,,,,,20.0,\n",
      "trace_kalos.csv",
      kKeepAll);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(8));
  EXPECT_EQ(trace->jobs[0].waited, Duration::seconds(10));
  EXPECT_EQ(trace->jobs[0].kind, "Pretrain");
  EXPECT_EQ(trace->jobs[0].memory_mib, 8 * 1000 * 1024);
  EXPECT_EQ(trace->jobs[0].instances, 8);
  EXPECT_EQ(trace->report.counted(TraceReason::TimesDisagree, TraceAction::Altered), 1U);
  EXPECT_TRUE(trace->jobs[1].censored);
  EXPECT_EQ(trace->jobs[1].duration, Duration::seconds(10));
}

TEST(Acme, OffsetsAreConverted) {
  const std::string seren =
      "1,u,1,8,64,Other,COMPLETED,2023-03-01 08:00:00+08:00,2023-03-01 08:00:00+08:00,2023-03-01 "
      "09:00:00+08:00,3600,0,28800\n";
  const auto trace = parse_acme(std::string(kSeren) + seren, "trace_seren.csv");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(1));
  EXPECT_EQ(trace->origin.ns / 1'000'000'000, 1'677'628'800) << "2023-03-01 00:00 UTC";
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(3600));
  EXPECT_EQ(trace->report.counted(TraceReason::TimesDisagree, TraceAction::Altered), 0U);
}

TEST(Acme, TimesWithoutOffsetAreErrors) {
  const auto trace = parse_acme(
      std::string(kSeren) +
          "1,u,1,8,64,Other,COMPLETED,2023-03-01 08:00:00,2023-03-01 08:00:00+8,2023-13-01 "
          "09:00:00+08:00,3600,0,28800\n",
      "trace_seren.csv");
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(3));
  EXPECT_THAT(trace.errors()[0].text(),
              HasSubstr("trace_seren.csv:2: submit_time: found '2023-03-01 08:00:00', but a time "
                        "with its offset"));
}

}  // namespace
}  // namespace orrery::sim
