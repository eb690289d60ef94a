#include "sim/reports/evalys_csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/sim/reports/changing_job.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kEvalysHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata\n";

std::string evalys(const JobTable& jobs, const Timeline* timeline = nullptr) {
  std::ostringstream out;
  write_evalys_csv(out, "philly", jobs, timeline);
  return out.str();
}

TEST(EvalysCsv, AFinishedJobHasEveryField) {
  JobTable jobs;
  jobs.add(JobId(0),
           {.name = "application_1506_1",
            .profile = "resnet18",
            .submitted = at_ms(500),
            .devices_requested = 2,
            .time_requested = Duration::seconds(149)});
  JobOutcome& job = jobs[JobId(0)];
  job.started = at_ms(1500);
  job.finished = at_ms(5500);
  job.phase = JobPhase::Succeeded;
  job.reschedules = 3;
  EXPECT_EQ(evalys(jobs),
            std::string(kEvalysHeader) +
                "application_1506_1,philly,resnet18,0.500000,2,149.000000,1,COMPLETED_SUCCESSFULLY,"
                "1.500000,4.000000,5.500000,1.000000,5.000000,1.250000,,-1,"
                "restarts=0;reallocations=3;preemptions=0;node_losses=0\n");
}

TEST(EvalysCsv, WhatIsNotKnownIsEmpty) {
  JobTable jobs;
  jobs.add(JobId(0), {.name = "waits", .submitted = at_ms(0), .devices_requested = 1});
  jobs.add(JobId(1), {.name = "runs", .submitted = at_ms(0), .devices_requested = 1});
  jobs[JobId(1)].started = at_ms(1000);
  jobs[JobId(1)].phase = JobPhase::Running;
  jobs.add(JobId(2), {.name = "refused", .submitted = at_ms(0), .devices_requested = 99});
  jobs[JobId(2)].phase = JobPhase::Failed;
  jobs[JobId(2)].reason = Reason::Infeasible;
  jobs[JobId(2)].finished = at_ms(0);
  EXPECT_EQ(evalys(jobs),
            std::string(kEvalysHeader) +
                "waits,philly,,0.000000,1,-1.000000,0,SUBMITTED,,,,,,,,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n"
                "runs,philly,,0.000000,1,-1.000000,0,RUNNING,1.000000,,,1.000000,,,,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n"
                "refused,philly,,0.000000,99,-1.000000,0,REJECTED,,,,,,,,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n");
}

TEST(EvalysCsv, FailedAndStoppedJobsAreToldApart) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 2; ++i) {
    jobs.add(JobId(i), {.name = i == 0 ? "failed" : "stopped", .submitted = at_ms(0)});
    jobs[JobId(i)].started = jobs[JobId(i)].finished = at_ms(0);
    jobs[JobId(i)].phase = JobPhase::Failed;
    jobs[JobId(i)].reason = i == 0 ? Reason::BackoffLimitReached : Reason::StoppedByUser;
  }
  const std::string text = evalys(jobs);
  EXPECT_NE(text.find("failed,philly,,0.000000,0,-1.000000,0,COMPLETED_FAILED,"), text.npos);
  EXPECT_NE(text.find("stopped,philly,,0.000000,0,-1.000000,0,COMPLETED_KILLED,"), text.npos);
}

TEST_F(ChangingJob, IsOneRowForEachSegment) {
  const std::string tail = ";restarts=0;reallocations=2;preemptions=1;node_losses=0\n";
  const std::string head = ",1,-1.000000,1,COMPLETED_SUCCESSFULLY,";
  EXPECT_EQ(evalys(jobs_, &run_.timeline),
            std::string(kEvalysHeader) +  //
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

TEST(EvalysCsv, AJobWhoseDevicesNeverChangedIsOneRow) {
  Recorded run({tests::nodes_of(1, 4)});
  const JobId id = run.come(tests::job("same").replicas(2));
  JobTable jobs;
  jobs.add(id, {.name = "same", .submitted = run.now, .devices_requested = 2});
  run.plan(tests::grant(id, 2));
  run.settle();
  run.tell();
  run.wait_s(5);
  run.timeline.close(run.now);
  jobs[id].started = at_ms(0);
  jobs[id].phase = JobPhase::Running;
  EXPECT_EQ(evalys(jobs, &run.timeline),
            std::string(kEvalysHeader) +
                "same,philly,,0.000000,2,-1.000000,0,RUNNING,0.000000,,,0.000000,,,0-1,-1,"
                "restarts=0;reallocations=0;preemptions=0;node_losses=0\n");
  std::ostringstream none;
  write_segments_csv(none, jobs, run.timeline);
  EXPECT_EQ(none.str().find("same"), std::string::npos);
}

TEST(EvalysCsv, NamesWithACommaOrAQuoteAreQuoted) {
  JobTable jobs;
  jobs.add(JobId(0), {.name = "a,\"b\"", .submitted = at_ms(0)});
  EXPECT_NE(evalys(jobs).find("\n\"a,\"\"b\"\"\",philly,"), std::string::npos);
}

}  // namespace
}  // namespace orrery::sim
