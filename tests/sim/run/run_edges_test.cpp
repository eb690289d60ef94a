// Runs at the edges of what the model does: faults that overlap, ends that never come, jobs that
// wait at the end.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/sim/run/one_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::sim {
namespace run_edges_tests {

/// When a job of 1000 s alone on one node of four devices is done.
double end_with(const std::string& faults) {
  return run_of_text(
             "policy: fifo\ncluster: {nodes: 1, gpus_per_node: 4}\n"
             "jobs: [{name: a, gpus: 1, work: 1000s}]\nfaults:\n" +
             faults)
      .summary.makespan_s;
}

TEST(RunEdges, OfSlownessesThatOverlapTheWorstCountsWhileItLasts) {
  // 10 s, 10 s ten times as slow, then twice: 11 units in 20 s, and 989 at half the speed.
  EXPECT_NEAR(end_with("  - {at: 10s, kind: slow, job: a, factor: 10, for: 10s}\n"
                       "  - {at: 12s, kind: slow, job: a, factor: 2}\n"),
              20 + 2 * 989,
              0.1);
  EXPECT_NEAR(end_with("  - {at: 10s, kind: slow, node: 0, factor: 10, for: 10s}\n"
                       "  - {at: 12s, kind: slow, node: 0, factor: 2}\n"),
              20 + 2 * 989,
              0.1);
  // The milder one ends first.
  EXPECT_NEAR(end_with("  - {at: 10s, kind: slow, job: a, factor: 10, for: 100s}\n"
                       "  - {at: 20s, kind: slow, job: a, factor: 2, for: 10s}\n"),
              110 + 1000 - 20,
              0.1);
}

TEST(RunEdges, AHangLastsAsLongAsTheLastOfThoseThatOverlap) {
  EXPECT_NEAR(end_with("  - {at: 10s, kind: hang, job: a, for: 10s}\n"
                       "  - {at: 12s, kind: hang, job: a, for: 100s}\n"),
              1000 + 102,
              0.1);
}

TEST(RunEdges, OfSlowLinksThatOverlapTheWorstCountsWhileItLasts) {
  const auto end_of = [](const std::string& faults) {
    return run_of_text(
               "policy: fifo\nfidelity: L1\n"
               "cluster: {nodes: 2, gpus_per_node: 1, network: {nic_bandwidth: 8Gb/s}}\n"
               "jobs:\n  - {name: a, gpus: 1, replicas: 2, work: {units: 1000, throughput: 0.5, "
               "step: {units: 1, gradient: 1GB}}}\nfaults:\n" +
               faults)
        .summary.makespan_s;
  };
  const double mild = end_of("  - {at: 20s, kind: bandwidth, factor: 0.9}\n");
  const double both = end_of(
      "  - {at: 10s, kind: bandwidth, factor: 0.1, for: 10s}\n"
      "  - {at: 12s, kind: bandwidth, factor: 0.9}\n");
  EXPECT_GT(both, mild);
  EXPECT_LT(both, mild + 10) << "the bad ten seconds are over after ten seconds";
}

// The kill of a stuck worker is pending until then: its end is not before now.
TEST(RunEdges, AStuckWorkerEndsWhenItIsStuckNoMoreAlsoBesideStages) {
  const RunReport report = run_of_text(
      "policy: fifo\nfidelity: L1\ncluster: {nodes: 3, gpus_per_node: 1}\n"
      "jobs:\n"
      "  - {name: a, gpus: 1, replicas: 2, work: {units: 500, throughput: 1, step: {units: 1, "
      "gradient: 1MB}}}\n"
      "  - {name: b, gpus: 1, work: 500s}\n"
      "faults: [{at: 50s, kind: stuck, job: b, for: 100s}]\n"
      "requests: [{at: 60s, job: b, stop: true}]\n");
  EXPECT_EQ(report.summary.jobs_finished, 1U);
  EXPECT_GT(report.summary.makespan_s, 150);
}

TEST(RunEdges, WorkBeyondTheEndOfTimeEndsTheRun) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 1, gpus_per_node: 1}\n"
      "jobs: [{name: a, at: 106000d, gpus: 1, work: 1000d}]\n");
  EXPECT_EQ(report.summary.jobs_unfinished, 1U);
}

TEST(RunEdges, StrikesBeyondTheEndOfTimeDoNotCome) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 1, gpus_per_node: 4}\n"
      "jobs: [{name: a, gpus: 4, work: 100s}]\n"
      "faults: [{at: 1s, kind: down, node: 0, times: 1000000, every: 100000d, for: 5s}]\n");
  EXPECT_EQ(report.summary.jobs_finished, 1U);
  EXPECT_EQ(report.summary.restarts + report.summary.node_losses, 0U) << "back within the lease";
  EXPECT_LT(report.summary.makespan_s, 200);
}

TEST(RunEdges, AJobThatRanAndWaitsAtTheEndCountsToIt) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 2, gpus_per_node: 4}\n"
      "jobs:\n"
      "  - {name: short, gpus: 4, work: 100s}\n"
      "  - {name: long, gpus: 4, work: 5000s, unknown_deadline: 0s}\n"
      "faults:\n"
      "  - {at: 1000s, node: 0, kind: down}\n"
      "  - {at: 1000s, node: 1, kind: down}\n"
      "until: 1500s\n");
  EXPECT_EQ(report.summary.jobs_unfinished, 1U);
  EXPECT_GE(report.summary.makespan_s, 1000);
  EXPECT_LE(report.summary.gpu_utilization, 1);
}

TEST(RunEdges, AJobThatCanNeverFitIsLeftAsInfeasible) {
  const RunReport report = run_of_text(
      "policy: fifo\nuntil: 1h\ncluster: {nodes: 3, gpus_per_node: 4}\n"
      "jobs:\n"
      "  - {name: huge, replicas: 13, work: 1h}\n"
      "  - {name: fits, replicas: 1, work: 10s}\n"
      "  - {name: waits, at: 1min, replicas: 12, work: 2h}\n"
      "  - {name: next, at: 2min, replicas: 12, work: 2h}\n");
  const JobTable& jobs = report.metrics->jobs();
  EXPECT_EQ(jobs[JobId(0)].phase, JobPhase::Pending);
  EXPECT_EQ(jobs[JobId(0)].reason, Reason::Infeasible);
  EXPECT_EQ(jobs[JobId(1)].reason, Reason::RequiredSucceeded);
  EXPECT_EQ(jobs[JobId(2)].reason, Reason::AllReady);
  EXPECT_EQ(jobs[JobId(3)].reason, Reason::Submitted);
}

TEST(RunEdges, JobsThatShareADeviceDoNotContendForIt) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 1, gpus_per_node: 1}\n"
      "jobs:\n"
      "  - {name: a, gpus: 0.5, work: 100s}\n"
      "  - {name: b, gpus: 0.5, work: 100s}\n");
  EXPECT_EQ(report.summary.jobs_finished, 2U);
  EXPECT_DOUBLE_EQ(report.summary.ftf_avg, 1);
}

// In place, a job pauses for a rescale; those that start anew afterwards have nothing to wait for.
TEST(RunEdges, ADeviceOnWhichRolesTakeTurnsIsAskedForOnce) {
  const RunReport report = run_of_text(
      "cluster: {nodes: 1, gpus_per_node: 4}\n"
      "jobs:\n"
      "  - name: turns\n"
      "    work: 100s\n"
      "    take_turns: [actor, rollout]\n"
      "    roles:\n"
      "      actor: {placement: 0-3}\n"
      "      rollout: {placement: 0-3}\n");
  EXPECT_EQ(report.metrics->jobs()[JobId(0)].devices_requested, 4);
  EXPECT_DOUBLE_EQ(report.summary.ftf_avg, 1);  // It has never waited for anybody.
  EXPECT_DOUBLE_EQ(report.summary.gpu_seconds_allocated, 400);
}

TEST(RunEdges, APauseEndsWithTheWorkersThatPaused) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 1, gpus_per_node: 2}\n"
      "timing: {rescale: 1000s, checkpoint_interval: 1s}\n"
      "jobs:\n"
      "  - {name: a, gpus: 1, replicas: {min: 1, max: 2}, rescale: in_place, recovery: job, "
      "work: {units: 500, throughput: 1}}\n"
      "requests:\n  - {at: 50s, job: a, scale: {set: 2}}\n"
      "faults:\n  - {at: 200s, kind: crash, job: a}\n");
  EXPECT_EQ(report.summary.jobs_finished, 1U);
  EXPECT_LT(report.summary.makespan_s, 1000);
}

/// Jobs with a half of a device each, as many as `priorities` and 1 s apart, then one that asks for
/// a whole one of three.
RunReport run_with_halves(const std::string& policy, const std::vector<int>& priorities) {
  std::string text = "policy: " + policy +
                     "\ncluster: {nodes: 1, gpus_per_node: 3}\n"
                     "timing: {start: 5s, stop: 5s}\nuntil: 3000s\njobs:\n";
  for (std::size_t i = 0; i < priorities.size(); ++i)
    text +=
        "- {name: half-" + std::to_string(i) + ", at: " + std::to_string(i) +
        "s, gpus: 0.5, preemptible: true, work: 4000s, priority: " + std::to_string(priorities[i]) +
        "}\n";
  text += "- {name: whole, at: 100s, gpus: 1, priority: 5, preemptible: true, work: 1000s}\n";
  return run_of_text(text);
}

// A half that is free on one device and the half of a job on another are no whole device: who takes
// the job's for that preempts it in vain, and again as soon as it is back.
TEST(RunEdges, HalvesOfTwoDevicesAreNotTakenForAWholeOne) {
  for (const std::string policy : {"fifo", "easy", "las", "fit", "sjf", "srtf", "srsf", "orrery"}) {
    SCOPED_TRACE(policy);
    const RunReport none = run_with_halves(policy, {5, 0, 5, 0, 5});
    EXPECT_EQ(none.summary.preemptions, 0U) << "each device has a half that nobody may take";
    const RunReport two = run_with_halves(policy, {5, 5, 0, 0, 5});
    EXPECT_EQ(two.summary.preemptions, 2U) << "both of the second device";
    EXPECT_EQ(two.summary.jobs_finished, 1U);
  }
}

TEST(RunEdges, UnderTheTimingOfAnArtifactNothingWorksOnADeadNode) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/gf.trace") << "R\tcmd\t--steps\t0\t1050\t0\t1\n";
  std::ofstream(folder.path() + "/speeds.json") << R"--({"v100": {"('R', 1)": {"null": 10}}})--";
  const RunReport report = run_of_text(
      "policy: fifo\ntiming: gavel\ncluster: {nodes: 2, gpus_per_node: 1, gpu: v100}\n"
      "workload: {format: gavel, file: gf.trace, throughputs: speeds.json}\n"
      "faults: [{at: 100s, node: 0, kind: down}]\nuntil: 10000s\n",
      folder.path() + "/test.yaml");
  EXPECT_EQ(report.summary.jobs_finished, 1U);
  EXPECT_GT(report.summary.makespan_s, 110) << "it takes the lease of the node to go on elsewhere";
}

}  // namespace run_edges_tests
}  // namespace orrery::sim
