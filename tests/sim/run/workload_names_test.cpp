// Names of a workload's jobs: each job is there under a name of its own, or counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/sim/run/one_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::sim {
namespace workload_names_tests {

using testing::ElementsAre;

/// As results show them, by submission.
std::vector<std::string> names_of(const RunReport& report) {
  const JobTable& jobs = report.metrics->jobs();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < jobs.size(); ++i)
    if (jobs.contains(JobId(i))) names.emplace_back(jobs.name(JobId(i)));
  return names;
}

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name), std::ios::binary) << text;
  return folder.file(name);
}

TEST(WorkloadNames, JobsWhoseNamesAreWrittenGetANumberAndAreCounted) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 2, gpus_per_node: 4}\n"
      "jobs:\n  - {name: job-2, gpus: 1, work: {duration: 5000s}}\n"
      "  - {name: job-2-2, gpus: 1, work: {duration: 5000s}}\n"
      "workload: {generator: {jobs: 3, arrivals: {jobs_per_hour: 100}}}\n");
  EXPECT_EQ(report.summary.jobs_finished, 5U);
  EXPECT_THAT(names_of(report), ElementsAre("job-2", "job-2-2", "job-1", "job-2-3", "job-3"));
  EXPECT_EQ(report.summary.workload.altered, (std::vector<ReasonCount>{{"name used before", 1}}));
  EXPECT_TRUE(report.summary.workload.dropped.empty());
}

TEST(WorkloadNames, SeveralUsersOfAGeneratorAreNamespaces) {
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 2, gpus_per_node: 4}\n"
      "workload: {generator: {jobs: 400, users: 2, user_skew: 1, arrivals: {jobs_per_hour: "
      "100}}}\n");
  std::size_t first = 0;
  for (const std::string& name : names_of(report)) {
    EXPECT_TRUE(name.starts_with("user-1.job-") || name.starts_with("user-2.job-")) << name;
    first += name.starts_with("user-1.") ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(first), 400.0 * 2 / 3, 50) << "twice as many as the second";
}

TEST(WorkloadNames, OfATraceTheyJoinTheNamesUsedTwiceInIt) {
  const TemporaryFolder folder;
  const std::string file = write(folder,
                                 "t.csv",
                                 "name,submit_s,duration_s,gpus\na,5,10,1\na-2,6,10,1\n"
                                 "B,7,10,1\nc,8,10,1\nc,9,10,1\n");
  const RunReport report = run_of_text(
      "policy: fifo\ncluster: {nodes: 2, gpus_per_node: 4}\n"
      "jobs: [{name: a, gpus: 1, work: 500s}, {name: b, gpus: 1, work: 500s}]\n"
      "workload: {format: orrery, file: " +
      file + "}\n");
  EXPECT_EQ(report.summary.jobs_finished, 7U);
  // Results tell B from b as they are.
  EXPECT_THAT(names_of(report), ElementsAre("a", "b", "a-2", "a-2-2", "B", "c", "c-2"));
  EXPECT_EQ(report.summary.workload.altered, (std::vector<ReasonCount>{{"name used before", 3}}));
}

TEST(WorkloadNames, PolluxJobsMayBeCalledAnything) {
  const TemporaryFolder folder;
  const std::string longest(70, 'n');
  std::string rows = "name,time,application,num_replicas,batch_size\n";
  const std::vector<std::string> names = {
      "a_1", "a-1", "A.1", "a_", "_b", "\xc3\xa9", longest, longest + "x"};
  for (const std::string& name : names) rows += name + ",0,vision,1,32\n";
  const RunReport report = run_of_text(
      "policy: fifo\ntiming: {mode: pollux}\ncluster: {nodes: 4, gpus_per_node: 4, gpu: slow}\n"
      "workload: {format: pollux, profiles: " ORRERY_SOURCE_ROOT
      "/scenarios/device_profiles/slow, file: " +
      write(folder, "w.csv", rows) + "}\n");
  EXPECT_EQ(report.summary.jobs_finished, names.size());
  EXPECT_THAT(names_of(report), testing::ElementsAreArray(names)) << "as the file calls them";
}

TEST(WorkloadNames, JobsThatTheControllerRefusesAreCounted) {
  const TemporaryFolder folder;
  const std::string file = write(folder,
                                 "w.csv",
                                 "name,time,application,num_replicas,batch_size\n"
                                 "a,0,vision,1,32\nwide,1,vision,2000000,32\n");
  for (const std::string more : {"", "control: agents\n"}) {
    const RunReport report = run_of_text(
        "policy: fifo\ntiming: {mode: pollux}\n"
        "cluster: {nodes: 4, gpus_per_node: 4, gpu: slow}\n" +
        more +
        "workload: {format: pollux, profiles: " ORRERY_SOURCE_ROOT
        "/scenarios/device_profiles/slow, file: " +
        file + "}\n");
    EXPECT_EQ(report.summary.jobs_total, 1U);
    EXPECT_EQ(report.summary.jobs_finished, 1U);
    EXPECT_EQ(report.summary.workload.dropped,
              (std::vector<ReasonCount>{{"refused at submission", 1}}));
  }
}

}  // namespace workload_names_tests
}  // namespace orrery::sim
