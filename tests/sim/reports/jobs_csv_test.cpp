#include "sim/reports/jobs_csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "sim/reports/job_fields.hpp"
#include "sim/results/time_text.hpp"
#include "tests/sim/reports/changing_job.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kJobsHeader =
    "job_id,namespace,group,workload_name,profile,submission_time,requested_number_of_resources,"
    "requested_time,success,final_state,phase,reason,starting_time,execution_time,finish_time,"
    "waiting_time,turnaround_time,stretch,held_time,device_seconds,devices_mean,devices_max,"
    "allocations,restarts,reallocations,preemptions,node_losses\n";

/// What is written below the header.
std::string rows(const JobTable& jobs, const Timeline* timeline = nullptr) {
  std::ostringstream out;
  write_jobs_csv(out, "philly", jobs, timeline);
  const std::string text = out.str();
  EXPECT_TRUE(text.starts_with(kJobsHeader)) << text;
  return text.substr(std::min(kJobsHeader.size(), text.size()));
}

TEST(JobsCsv, AFinishedJobHasWhatIsKnownOfIt) {
  JobTable jobs;
  jobs.add(JobId(0),
           {.name = "application_1506_1",
            .profile = "resnet18",
            .submitted = at_ms(500),
            .devices_requested = 2,
            .time_requested = Duration::seconds(149),
            .name_space = "team",
            .group = "vision"});
  JobOutcome& job = jobs[JobId(0)];
  job.started = at_ms(1500);
  job.finished = at_ms(5500);
  job.phase = JobPhase::Succeeded;
  job.reason = Reason::RequiredSucceeded;
  job.restarts = 1;
  job.reschedules = 3;
  job.node_losses = 2;
  EXPECT_EQ(
      rows(jobs),
      "application_1506_1,team,vision,philly,resnet18,0.500000,2,149.000000,1,"
      "COMPLETED_SUCCESSFULLY,Succeeded,RequiredSucceeded,1.500000,4.000000,5.500000,1.000000,"
      "5.000000,1.250000,,,,,,1,3,0,2\n");
}

TEST_F(ChangingJob, IsOneRowWithTheSumsOverItsSegments) {
  EXPECT_EQ(rows(jobs_, &run_.timeline),
            "grows,default,,philly,,0.000000,1,-1.000000,1,COMPLETED_SUCCESSFULLY,Succeeded,"
            "RequiredSucceeded,0.000000,40.000000,40.000000,0.000000,40.000000,1.000000,"
            // 1, 3 and 2 devices for 10 s each.
            "30.000000,60.000000,2.000000,3,3,0,2,1,0\n");
}

TEST(JobsCsv, WhatIsHeldUntilTheEndIsHeardOfDoesNotCount) {
  Recorded run({tests::nodes_of(1, 4)});
  const JobId id = run.come(tests::job("two").replicas(2));
  JobTable jobs;
  jobs.add(id, {.name = "two", .submitted = run.now});
  run.plan(tests::grant(id, 2));
  run.settle();
  run.tell();
  // Both workers end at 5 s, of which the controller hears a second later, and of the other's two.
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    run.wait_s(rank == 0 ? 6 : 1);
    run.succeed(id, rank);
    run.tell_late(at_ms(5000));
  }
  run.timeline.close(run.now);
  jobs[id].started = at_ms(0);
  jobs[id].finished = at_ms(5000);
  jobs[id].phase = JobPhase::Succeeded;
  const std::string row = rows(jobs, &run.timeline);
  EXPECT_TRUE(row.ends_with(",5.000000,1.000000,5.000000,10.000000,2.000000,2,1,0,0,0,0\n")) << row;
}

TEST(JobsCsv, ADeviceOnWhichRolesTakeTurnsCountsOnce) {
  const std::vector<DevicePart> parts = {
      {.node = NodeId(0), .devices = 0b1111, .thousandths = 1000, .role = RoleIndex(0)},
      {.node = NodeId(0), .devices = 0b0111, .thousandths = 1000, .role = RoleIndex(1)},
      {.node = NodeId(1), .devices = 0b0001, .thousandths = 300, .role = RoleIndex(0)},
      {.node = NodeId(1), .devices = 0b0001, .thousandths = 300, .role = RoleIndex(0)},
      {.node = NodeId(1), .devices = 0b0110, .thousandths = 500, .role = RoleIndex(1)}};
  EXPECT_EQ(thousandths_of(parts), 4000 + 600 + 1000);
}

TEST(JobsCsv, WhatAJobHeldIsEmptyWhereSegmentsWereLeftOut) {
  Recorded run({tests::nodes_of(1, 4)}, {.segments_max = 0});
  const JobId id = run.come(tests::job("same").replicas(2));
  JobTable jobs;
  jobs.add(id, {.name = "same", .submitted = run.now});
  run.plan(tests::grant(id, 2));
  run.settle();
  run.tell();
  run.wait_s(5);
  run.timeline.close(run.now);
  ASSERT_EQ(run.timeline.segments_left_out(), 1U);
  jobs[id].started = at_ms(0);
  EXPECT_TRUE(rows(jobs, &run.timeline).ends_with(",0.000000,,,,,,,,0,0,0,0\n"))
      << rows(jobs, &run.timeline);
}

TEST(JobsCsv, WhatIsNotKnownIsEmptyAndWhatRunsIsCountedUpToTheEnd) {
  Recorded run({tests::nodes_of(1, 4)});
  const JobId id = run.come(tests::job("same").replicas(2));
  JobTable jobs;
  jobs.add(id, {.name = "same", .submitted = run.now, .devices_requested = 2});
  run.plan(tests::grant(id, 2));
  run.settle();
  run.tell();
  run.wait_s(5);
  const JobId waits = run.come(tests::job("waits").replicas(4));
  jobs.add(waits, {.name = "waits", .submitted = run.now, .devices_requested = 4});
  const JobId refused = run.come(tests::job("refused").replicas(9));
  jobs.add(refused, {.name = "refused", .submitted = run.now, .devices_requested = 9});
  run.timeline.close(run.now);
  jobs[id].started = at_ms(0);
  jobs[id].phase = JobPhase::Running;
  jobs[id].reason = Reason::AllReady;
  jobs[refused].finished = at_ms(6000);
  jobs[refused].phase = JobPhase::Failed;
  jobs[refused].reason = Reason::Infeasible;
  EXPECT_EQ(rows(jobs, &run.timeline),
            "same,,,philly,,0.000000,2,-1.000000,0,RUNNING,Running,AllReady,0.000000,,,0.000000,,,"
            "5.000000,10.000000,2.000000,2,1,0,0,0,0\n"
            "waits,,,philly,,5.000000,4,-1.000000,0,SUBMITTED,Pending,Submitted,,,,,,,"
            "0.000000,0.000000,,0,0,0,0,0,0\n"
            "refused,,,philly,,5.000000,9,-1.000000,0,REJECTED,Failed,Infeasible,,,6.000000,,"
            "1.000000,,0.000000,0.000000,,0,0,0,0,0,0\n");
}

TEST(JobsCsv, DeviceSecondsAreCountedBeyondWhat64BitsHoldOfNanoseconds) {
  std::string text;
  append_device_seconds_6(static_cast<__int128>(1'000'000'000'000) * 1'000'000'000 + 1500, text);
  EXPECT_EQ(text, "1000000000000.000002");
}

TEST(JobTable, GapsAreNoJobsAndNamesKeepTheirPlace) {
  JobTable jobs;
  jobs.add(JobId(1), {.name = "one", .profile = "p", .submitted = at_ms(0)});
  jobs.add(JobId(4), {.name = "four", .profile = "q", .submitted = at_ms(0)});
  EXPECT_FALSE(jobs.contains(JobId(0)));
  EXPECT_FALSE(jobs.contains(JobId(2)));
  EXPECT_FALSE(jobs.contains(JobId(5)));
  EXPECT_FALSE(jobs.contains(JobId::none()));
  EXPECT_EQ(jobs.name(JobId(1)), "one");
  EXPECT_EQ(jobs.name(JobId(4)), "four");
  EXPECT_EQ(jobs.profile(jobs[JobId(4)]), "q");
}

TEST(JobTable, ARowTakesLessThanAHundredBytesWithAllThatStandsBesideIt) {
  // The row, the end of its name, ten letters of name, and 16 for what others keep.
  EXPECT_LE(sizeof(JobOutcome) + 4 + 10 + 8 + 8, 100U);
}

TEST(JobTable, AProfileOfItsOwnForEachOfManyJobsIsKept) {
  // As converters write them: a profile for each run time.
  constexpr std::uint32_t kJobs = 200'000;
  JobTable jobs;
  for (std::uint32_t i = 0; i < kJobs; ++i)
    jobs.add(JobId(i),
             {.name = "j",
              .profile = std::to_string(i),
              .submitted = at_ms(0),
              .name_space = i % 2 == 0 ? "default" : "team"});
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    ASSERT_EQ(jobs.profile(jobs[JobId(i)]), std::to_string(i));
    ASSERT_EQ(jobs.owner(jobs[JobId(i)]).name_space, i % 2 == 0 ? "default" : "team");
  }
}

TEST(JobTable, OwnersAreKeptOnceEach) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 4; ++i)
    jobs.add(JobId(i),
             {.name = "j",
              .submitted = at_ms(0),
              .name_space = i % 2 == 0 ? "default" : "team",
              .group = i == 3 ? "red" : ""});
  EXPECT_EQ(jobs.owner(jobs[JobId(0)]), (JobOwner{"default", ""}));
  EXPECT_EQ(jobs.owner(jobs[JobId(1)]), (JobOwner{"team", ""}));
  EXPECT_EQ(jobs.owner(jobs[JobId(3)]), (JobOwner{"team", "red"}));
  EXPECT_EQ(&jobs.owner(jobs[JobId(2)]), &jobs.owner(jobs[JobId(0)]));
}

TEST(JobTable, DisplayNameIsWhatTheUserWrote) {
  EXPECT_EQ(display_name("default.job1"), "job1");
  EXPECT_EQ(display_name("team.job1"), "team.job1");
  EXPECT_EQ(display_name("job1"), "job1");
}

}  // namespace
}  // namespace orrery::sim
