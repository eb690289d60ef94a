// Workloads of Batsim run here, against the times that Batsim's model gives.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "sim/import/batsim_file.hpp"
#include "tests/sim/import/import_runs.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string batsim_path(const std::string& name) {
  return (traces_folder() / "batsim" / name).string();
}

std::string scenario_of(const std::string& name,
                        const std::string& policy,
                        const std::string& more = "") {
  return "policy: " + policy + "\nworkload: {batsim: {file: '" + batsim_path(name) + "'" + more +
         "}}\n";
}

sim::BatsimFile file_of(const std::string& name) {
  const auto file = sim::parse_batsim(text_of_file(batsim_path(name)), name);
  EXPECT_TRUE(file.has_value());
  return file.has_value() ? *file : sim::BatsimFile{};
}

/// Batsim's model of a delay job: it ends its delay after its start, or at its walltime.
void expect_delays(const std::string& name, const std::string& policy) {
  const sim::BatsimFile file = file_of(name);
  const auto run = run_imported(scenario_of(name, policy));
  ASSERT_TRUE(run);
  ASSERT_EQ(run->jobs.size(), file.jobs.size());
  EXPECT_THAT(run->warnings, IsEmpty());
  for (const sim::BatsimJob& job : file.jobs) {
    const auto* delay = std::get_if<sim::BatsimDelay>(&file.profiles[job.profile].what);
    if (delay == nullptr) continue;
    const double walltime = job.walltime_s.value_or(std::numeric_limits<double>::infinity());
    const bool reached = delay->seconds >= walltime;
    EXPECT_NEAR(run->number(job.id, "execution_time"), std::min(delay->seconds, walltime), 0.6e-6)
        << "job " << job.id;
    EXPECT_EQ(run->jobs.at(job.id).at("final_state"),
              reached ? "COMPLETED_WALLTIME_REACHED" : "COMPLETED_SUCCESSFULLY")
        << "job " << job.id;
    EXPECT_EQ(run->jobs.at(job.id).at("success"), reached ? "0" : "1");
  }
}

TEST(BatsimRuns, DelayJobsTakeExactlyTheirDelayUnderEveryOrder) {
  SKIP_WITHOUT_TRACES();
  for (const char* policy : {"fifo", "easy"}) {
    expect_delays("test_delays.json", policy);
    expect_delays("example_workload_hpc_seed1_jobs250.json", policy);
    expect_delays("test_batsim_paper_workload_seed1.json", policy);
  }
}

TEST(BatsimRuns, OneDelayAfterTheOtherOnTwoHosts) {
  SKIP_WITHOUT_TRACES();
  const auto run = run_imported(scenario_of("test_delays.json", "fifo"));
  ASSERT_TRUE(run);
  // A job of 10 s comes every 3 s, and two can run: pairs begin every 10 s, 3 s apart.
  for (int job = 0; job < 10; ++job)
    EXPECT_EQ(run->number(std::to_string(job), "starting_time"), job / 2 * 10 + job % 2 * 3)
        << "job " << job;
}

TEST(BatsimRuns, JobsEndAtTheirWalltime) {
  SKIP_WITHOUT_TRACES();
  const std::string speed = ", host_flops: 1e9";
  const auto run = run_imported(scenario_of("test_walltime.json", "fifo", speed));
  ASSERT_TRUE(run);
  for (const int first : {0, 1000})
    for (int seconds = 1; seconds <= 20; ++seconds) {
      const std::string job = std::to_string(first + seconds);
      // A run of 10 s: with a walltime of just 10 s it has reached it, as in Batsim. Compute that
      // would end at that very instant is the exception: it is done first.
      if (first == 1000 && seconds == 10) continue;
      EXPECT_EQ(run->number(job, "execution_time"), std::min(seconds, 10)) << "job " << job;
      EXPECT_EQ(run->jobs.at(job).at("final_state"),
                seconds <= 10 ? "COMPLETED_WALLTIME_REACHED" : "COMPLETED_SUCCESSFULLY")
          << "job " << job;
    }
  for (const char* job : {"21", "22", "1021", "1022"})
    EXPECT_EQ(run->number(job, "execution_time"), 10) << "job " << job;
}

TEST(BatsimRuns, EasyWithKnownNodesGivesBatsimsPublishedScheduleRowByRow) {
  SKIP_WITHOUT_TRACES();
  const auto run = run_imported(scenario_of("evalys_reference_outputs/medium_late.json",
                                            "{name: easy, reserve_nodes: true}"));
  ASSERT_TRUE(run);
  std::ifstream in(batsim_path("evalys_reference_outputs/easy_out_jobs.csv"));
  const auto reference = csv_rows(in);
  ASSERT_EQ(reference.size(), 801U);
  ASSERT_EQ(run->jobs.size(), 801U);
  double waited = 0;
  double turned = 0;
  double slowest = 0;
  double last = 0;
  for (const auto& row : reference) {
    const std::string& job = row.at("job_id");
    for (const char* column : {"submission_time",
                               "starting_time",
                               "execution_time",
                               "finish_time",
                               "waiting_time",
                               "turnaround_time",
                               "stretch"})
      EXPECT_NEAR(run->number(job, column), std::stod(row.at(column)), 1.5e-6)
          << "job " << job << ": " << column;
    EXPECT_EQ(run->jobs.at(job).at("allocated_resources"), row.at("allocated_resources"))
        << "job " << job;
    waited += run->number(job, "waiting_time");
    turned += run->number(job, "turnaround_time");
    slowest = std::max(slowest, run->number(job, "stretch"));
    last = std::max(last, run->number(job, "finish_time"));
  }
  EXPECT_NEAR(last, 16088.51, 1e-6);
  EXPECT_NEAR(waited / 801, 9.516326, 1e-6);
  EXPECT_NEAR(turned / 801, 160.927071, 1e-6);
  EXPECT_NEAR(slowest, 35.114472, 1e-6);
}

// Batsim's EASY sets the head's place aside on known machines. A number of devices lets more jobs
// pass, so the mean wait is shorter; no job of the reference is lost by it.
TEST(BatsimRuns, EasyThatCountsDevicesBackfillsMore) {
  SKIP_WITHOUT_TRACES();
  const auto run = run_imported(scenario_of("evalys_reference_outputs/medium_late.json", "easy"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->summary.jobs_finished, 801U);
  EXPECT_NEAR(run->summary.makespan_s, 16088.51, 1e-6);
  EXPECT_NEAR(run->summary.queue_avg_s, 8.672887, 1e-5);
}

TEST(BatsimRuns, EveryProfileTypeOfTheExamplesRunsAndIsAccountedFor) {
  SKIP_WITHOUT_TRACES();
  const auto run =
      run_imported(scenario_of("test_various_profile_types.json", "fifo", ", host_flops: 1e9"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->summary.jobs_finished, 11U) << "work of a millisecond fits any walltime";
  ASSERT_EQ(run->summary.workload.altered.size(), 1U);
  EXPECT_EQ(run->summary.workload.altered[0].reason, "parallel-task-as-flows");
  EXPECT_EQ(run->summary.workload.altered[0].rows, 10U);
  ASSERT_EQ(run->summary.workload.notes.size(), 1U);
  EXPECT_THAT(run->summary.workload.notes[0], HasSubstr("advance in step"));
}

TEST(BatsimRuns, MachinesGoAndComeBackByTheEventFile) {
  const std::filesystem::path folder = testing::TempDir();
  std::ofstream(folder / "two_hosts.json") << R"({"nb_res": 2,
    "jobs": [{"id": "a", "subtime": 0, "res": 2, "profile": "d"},
             {"id": "b", "subtime": 0, "res": 1, "profile": "d"}],
    "profiles": {"d": {"type": "DelayProfile", "delay": 10}}})";
  std::ofstream(folder / "two_hosts_events.txt")
      << R"({"type":"generic","timestamp":15,"data":{"type":"machine_unavailable","resources":"0-1"}})"
      << "\n"
      << R"({"type":"generic","timestamp":40,"data":"{\"type\":\"machine_available\",\"resources\":\"1\"}"})"
      << "\n"
      << R"({"type":"generic","timestamp":41,"data":"to whom it may concern"})"
      << "\n";
  const auto run = run_imported(
      "workload: {batsim: {file: '" + (folder / "two_hosts.json").string() + "', events: '" +
      (folder / "two_hosts_events.txt").string() + "'}}\ntiming: {checkpoint_interval: 1h}\n");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->number("a", "finish_time"), 10);
  // Job b ran from 10 s on node 0, lost its 5 s of work with it, and starts anew on node 1.
  const auto& last = *run->jobs.rbegin();  // The rows of b, one for each of its segments.
  EXPECT_EQ(last.first.substr(0, 2), "b#");
  EXPECT_EQ(std::stod(last.second.at("finish_time")), 50);
  EXPECT_EQ(last.second.at("allocated_resources"), "1");
  EXPECT_GE(run->summary.node_losses, 1U);
  ASSERT_EQ(run->summary.workload.dropped.size(), 1U);
  EXPECT_EQ(run->summary.workload.dropped[0].reason, "events-not-about-machines");
}

}  // namespace
}  // namespace orrery::tests
