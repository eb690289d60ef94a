#include "sim/reports/jobs_csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/sim/reports/recorded.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata\n";

Instant at(std::int64_t ms) { return Instant::zero() + Duration::milliseconds(ms); }

std::string csv(const JobTable& jobs, const Timeline* timeline = nullptr) {
  std::ostringstream out;
  write_jobs_csv(out, "philly", jobs, timeline);
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
  EXPECT_EQ(csv(jobs),
            std::string(kHeader) +
                "application_1506_1,philly,resnet18,0.500000,2,149.000000,1,COMPLETED_SUCCESSFULLY,"
                "1.500000,4.000000,5.500000,1.000000,5.000000,1.250000,,-1,"
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

/// An elastic job: 1 device for 10 s, 3 for 10 s, none for 10 s, 2 others until its end at 40 s.
class ChangingJob : public testing::Test {
 protected:
  ChangingJob() : run_({tests::nodes_of(3, 2)}) {
    using tests::operator+;
    const JobId id = run_.come(tests::job("grows").elastic(1, 6));
    jobs_.add(id, {.name = "grows", .submitted = run_.now, .devices_requested = 1});
    steps(id, tests::grant(id, 1, {tests::on(0, 1)}));
    steps(id, tests::grant(id, 3, {tests::on(0, 1), tests::on(1, 2)}));
    steps(id, tests::grant(id, 0));
    steps(id, tests::grant(id, 2, {tests::on(2, 2)}));
    for (std::uint32_t rank = 0; rank < 2; ++rank) run_.succeed(id, rank);
    run_.tell();
    run_.wait_s(60);
    run_.timeline.close(run_.now);
    JobOutcome& job = jobs_[id];
    job.started = at(0);
    job.finished = at(40'000);
    job.phase = JobPhase::Succeeded;
    job.reschedules = 2;
    job.preemptions = 1;
  }

  void steps(JobId, const Plan& plan) {
    run_.plan(plan);
    run_.tell();
    run_.settle();
    run_.tell();
    run_.wait_s(10);
  }

  Recorded run_;
  JobTable jobs_;
};

TEST_F(ChangingJob, IsOneRowForEachSegment) {
  const std::string tail = ";restarts=0;reallocations=2;preemptions=1;node_losses=0\n";
  const std::string head = ",1,-1.000000,1,COMPLETED_SUCCESSFULLY,";
  EXPECT_EQ(csv(jobs_, &run_.timeline),
            std::string(kHeader) +  //
                "grows#1,philly,,0.000000" + head +
                "0.000000,10.000000,10.000000,0.000000,10.000000,1.000000,0,-1,segment=1/3" + tail +
                "grows#2,philly,,10.000000" + head +
                "10.000000,10.000000,20.000000,0.000000,10.000000,1.000000,0 2-3,-1,segment=2/3" +
                tail + "grows#3,philly,,20.000000" + head +
                "30.000000,10.000000,40.000000,10.000000,20.000000,2.000000,4-5,-1,segment=3/3" +
                tail);
}

TEST_F(ChangingJob, HasItsRowsJoinedInSegments) {
  std::ostringstream out;
  write_segments_csv(out, jobs_, run_.timeline);
  EXPECT_EQ(out.str(),
            "job_id,segment,segments,row_id,from,to,reason,phase,generation,devices,"
            "allocated_resources,work_done\n"
            "grows,1,3,grows#1,0.000000,10.000000,Granted,Starting,1,1,0,\n"
            "grows,2,3,grows#2,10.000000,20.000000,Rescaled,Starting,2,3,0 2-3,\n"
            "grows,3,3,grows#3,30.000000,40.000000,Granted,Starting,3,2,4-5,\n");
}

TEST(JobsCsv, AJobWhoseDevicesNeverChangedIsOneRow) {
  Recorded run({tests::nodes_of(1, 4)});
  const JobId id = run.come(tests::job("same").replicas(2));
  JobTable jobs;
  jobs.add(id, {.name = "same", .submitted = run.now, .devices_requested = 2});
  run.plan(tests::grant(id, 2));
  run.settle();
  run.tell();
  run.wait_s(5);
  run.timeline.close(run.now);
  jobs[id].started = at(0);
  jobs[id].phase = JobPhase::Running;
  EXPECT_EQ(csv(jobs, &run.timeline),
            std::string(kHeader) +
                "same,philly,,0.000000,2,-1.000000,0,RUNNING,0.000000,,,0.000000,,,0-1,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n");
  std::ostringstream none;
  write_segments_csv(none, jobs, run.timeline);
  EXPECT_EQ(none.str().find("same"), std::string::npos);
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
  // The row, the end of its name, ten letters of name, and 16 for what others keep.
  EXPECT_LE(sizeof(JobOutcome) + 4 + 10 + 8 + 8, 100U);
}

TEST(JobTable, DisplayNameIsWhatTheUserWrote) {
  EXPECT_EQ(display_name("default.job1"), "job1");
  EXPECT_EQ(display_name("team.job1"), "team.job1");
  EXPECT_EQ(display_name("job1"), "job1");
}

}  // namespace
}  // namespace orrery::sim
