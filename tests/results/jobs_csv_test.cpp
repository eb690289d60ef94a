#include "sim/results/jobs_csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace orrery::sim {
namespace {

constexpr std::string_view kHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata\n";

Instant at(std::int64_t ms) { return Instant::zero() + Duration::milliseconds(ms); }

std::string csv(const JobTable& jobs, const AllocationBook* book = nullptr) {
  std::ostringstream out;
  write_jobs_csv(out, "philly", jobs, book);
  return out.str();
}

TEST(JobsCsv, AFinishedJobHasEveryField) {
  JobTable jobs;
  jobs.add(JobId(0),
           {.name = "application_1506_1",
            .profile = "resnet18",
            .submitted = at(500),
            .devices_requested = 2,
            .time_requested = Duration::seconds(149)});
  JobOutcome& job = jobs[JobId(0)];
  job.started = at(1500);
  job.finished = at(5500);
  job.phase = JobPhase::Succeeded;
  job.reschedules = 3;
  AllocationBook book(std::vector<NodeGroup>{{.count = 1, .devices = 4}});
  const std::vector<HeldDevices> held{{NodeId(0), 0b110}};
  book.record(JobId(0), held);
  EXPECT_EQ(csv(jobs, &book),
            std::string(kHeader) +
                "application_1506_1,philly,resnet18,0.500000,2,149.000000,1,COMPLETED_SUCCESSFULLY,"
                "1.500000,4.000000,5.500000,1.000000,5.000000,1.250000,1-2,-1,"
                "restarts=0;reallocations=3;preemptions=0;node_losses=0\n");
}

TEST(JobsCsv, WhatIsNotKnownIsEmpty) {
  JobTable jobs;
  jobs.add(JobId(0), {.name = "waits", .submitted = at(0), .devices_requested = 1});
  jobs.add(JobId(1), {.name = "runs", .submitted = at(0), .devices_requested = 1});
  jobs[JobId(1)].started = at(1000);
  jobs[JobId(1)].phase = JobPhase::Running;
  jobs.add(JobId(2), {.name = "refused", .submitted = at(0), .devices_requested = 99});
  jobs[JobId(2)].phase = JobPhase::Failed;
  jobs[JobId(2)].reason = Reason::Infeasible;
  jobs[JobId(2)].finished = at(0);
  EXPECT_EQ(csv(jobs),
            std::string(kHeader) +
                "waits,philly,,0.000000,1,-1.000000,0,SUBMITTED,,,,,,,,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n"
                "runs,philly,,0.000000,1,-1.000000,0,RUNNING,1.000000,,,1.000000,,,,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n"
                "refused,philly,,0.000000,99,-1.000000,0,REJECTED,,,,,,,,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n");
}

TEST(JobsCsv, FailedAndStoppedJobsAreToldApart) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 2; ++i) {
    jobs.add(JobId(i), {.name = i == 0 ? "failed" : "stopped", .submitted = at(0)});
    jobs[JobId(i)].started = jobs[JobId(i)].finished = at(0);
    jobs[JobId(i)].phase = JobPhase::Failed;
    jobs[JobId(i)].reason = i == 0 ? Reason::BackoffLimitReached : Reason::StoppedByUser;
  }
  const std::string text = csv(jobs);
  EXPECT_NE(text.find("failed,philly,,0.000000,0,-1.000000,0,COMPLETED_FAILED,"), text.npos);
  EXPECT_NE(text.find("stopped,philly,,0.000000,0,-1.000000,0,COMPLETED_KILLED,"), text.npos);
}

TEST(JobsCsv, NamesWithACommaOrAQuoteAreQuoted) {
  JobTable jobs;
  jobs.add(JobId(0), {.name = "a,\"b\"", .submitted = at(0)});
  EXPECT_NE(csv(jobs).find("\n\"a,\"\"b\"\"\",philly,"), std::string::npos);
}

TEST(JobTable, GapsAreNoJobsAndNamesKeepTheirPlace) {
  JobTable jobs;
  jobs.add(JobId(1), {.name = "one", .profile = "p", .submitted = at(0)});
  jobs.add(JobId(4), {.name = "four", .profile = "q", .submitted = at(0)});
  EXPECT_FALSE(jobs.contains(JobId(0)));
  EXPECT_FALSE(jobs.contains(JobId(2)));
  EXPECT_FALSE(jobs.contains(JobId(5)));
  EXPECT_FALSE(jobs.contains(JobId::none()));
  EXPECT_EQ(jobs.name(JobId(1)), "one");
  EXPECT_EQ(jobs.name(JobId(4)), "four");
  EXPECT_EQ(jobs.profile(jobs[JobId(4)]), "q");
}

TEST(JobTable, ARowTakesLessThanAHundredBytesWithAllThatStandsBesideIt) {
  // The row, the end of its name, ten letters of name, one slot and one interval of devices.
  EXPECT_LE(sizeof(JobOutcome) + 4 + 10 + 8 + 8, 100U);
}

TEST(JobTable, DisplayNameIsWhatTheUserWrote) {
  EXPECT_EQ(display_name("default.job1"), "job1");
  EXPECT_EQ(display_name("team.job1"), "team.job1");
  EXPECT_EQ(display_name("job1"), "job1");
}

}  // namespace
}  // namespace orrery::sim
