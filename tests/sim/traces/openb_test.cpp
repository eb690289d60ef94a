#include "sim/traces/openb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace openb_tests {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kOpenbHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n";

Result<Trace> parse_list(const std::string& rows, const TraceOptions& options = kKeepAll) {
  return parse_openb(std::string(kOpenbHeader) + rows, "list.csv", options);
}

TEST(Openb, ARequestIsHeldInThousandths) {
  const auto trace = parse_list("a,6000,12288,1,460,T4|P100,BE,Succeeded,50,180,60\n");
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(1));
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.gpus, 1);
  EXPECT_EQ(job.gpu_milli, 460);
  EXPECT_EQ(job.cpu_milli, 6000);
  EXPECT_EQ(job.memory_mib, 12'288);
  EXPECT_EQ(job.models, "T4|P100");
  EXPECT_EQ(job.kind, "BE");
  EXPECT_EQ(job.status, TraceStatus::Pass);
  EXPECT_EQ(job.waited, Duration::seconds(10));
  EXPECT_EQ(job.duration, Duration::seconds(120));
}

TEST(Openb, ATaskThatRunsWhenTheTraceEndsIsCensored) {
  const std::string rows =
      "a,1,1,1,1000,,LS,Running,0,500,100\n"
      "b,1,1,1,1000,,LS,Running,0,300,100\n"
      "c,1,1,1,1000,,LS,Failed,0,500,100\n"
      "d,1,1,1,1000,,LS,Running,0,,100\n";
  const auto kept = parse_list(rows);
  expect_accounted(kept);
  ASSERT_THAT(kept->jobs, SizeIs(4));
  std::map<std::string, bool> censored;
  for (const TraceJob& job : kept->jobs) censored[job.name] = job.censored;
  EXPECT_EQ(censored,
            (std::map<std::string, bool>{{"a", true}, {"b", false}, {"c", false}, {"d", true}}));
  const auto dropped = parse_list(rows, {});
  expect_accounted(dropped);
  EXPECT_EQ(dropped->report.counted(TraceReason::Censored, TraceAction::Dropped), 2U);
}

TEST(Openb, AListWithoutTimesHasCensoredTasksOnly) {
  const std::string text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,2,8,1000\nb,1,2,0,0\n";
  const auto trace = parse_openb(text, "list.csv", kKeepAll);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_TRUE(trace->jobs[0].censored);
  EXPECT_EQ(trace->jobs[0].gpus, 8);
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroGpus, TraceAction::Kept), 1U);
}

TEST(Openb, ImpossibleRequestsAreErrors) {
  const auto trace = parse_list(
      "a,1,1,2,500,,LS,Running,0,9,1\n"
      "b,1,1,1,0,,LS,Running,0,9,1\n"
      "c,1,1,1,1001,,LS,Running,0,9,1\n"
      "d,1,1,1,1000,,LS,Lost,0,9,1\n");
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(4));
  EXPECT_THAT(trace.errors()[0].text(), HasSubstr("list.csv:2: gpu_milli: found '500'"));
  EXPECT_THAT(trace.errors()[3].text(), HasSubstr("list.csv:5: pod_phase: found 'Lost'"));
}

TEST(Openb, ThePublicListsHaveTheCountsOfTheirDescription) {
  const std::string name = "alibaba_openb_2023/openb_pod_list_default.csv";
  if (!shared_trace(name)) GTEST_SKIP() << "the lists are not at ../shared/traces";
  const auto trace = read_shared(name, kKeepAll);
  expect_accounted(trace);
  EXPECT_EQ(trace->report.rows, 8152U);
  EXPECT_EQ(trace->report.counted(TraceReason::NeverStarted, TraceAction::Dropped), 897U);
  EXPECT_EQ(trace->report.counted(TraceReason::Censored, TraceAction::Kept), 34U);
  EXPECT_EQ(trace->jobs.size(), 8152U - 897U);
  std::map<TraceStatus, int> by_status;
  for (const TraceJob& job : trace->jobs) ++by_status[job.status];
  EXPECT_EQ(by_status[TraceStatus::Failed], 1870);
  EXPECT_EQ(by_status[TraceStatus::Pass], 192);
  EXPECT_EQ(by_status[TraceStatus::Unknown], 5193);
  std::vector<Duration> durations;
  for (const TraceJob& job : trace->jobs) durations.push_back(job.duration);
  std::sort(durations.begin(), durations.end());
  EXPECT_EQ(durations[durations.size() / 2], Duration::seconds(616));
}

/// The counts by kind are of all tasks, those never scheduled included: without the times none is
/// dropped.
TEST(Openb, ThePublicListsHaveTheKindsOfTheirDescription) {
  const auto text = shared_trace("alibaba_openb_2023/openb_pod_list_default.csv");
  if (!text) GTEST_SKIP() << "the lists are not at ../shared/traces";
  std::string untimed;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::size_t end = 0;
    for (int field = 0; field < 5; ++field) end = line.find(',', end) + 1;
    untimed += std::string(line.substr(0, end - 1)) + "\n";
  }
  const auto trace = parse_openb(untimed, "untimed.csv", kKeepAll);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(8152));
  std::map<int, int> by_gpus;
  int shares = 0;
  std::int64_t gpu_milli = 0;
  for (const TraceJob& job : trace->jobs) {
    ++by_gpus[job.gpus];
    shares += job.gpu_milli < 1000 * job.gpus ? 1 : 0;
    gpu_milli += job.gpu_milli;
  }
  EXPECT_EQ(shares, 3078);
  EXPECT_EQ(by_gpus, (std::map<int, int>{{0, 1088}, {1, 3078 + 3911}, {2, 16}, {4, 15}, {8, 44}}));
  EXPECT_NEAR(static_cast<double>(gpu_milli) / 1000, 6086.8, 0.05);
}

TEST(Openb, EveryPublicListIsReadWhole) {
  const std::string folder = "alibaba_openb_2023/openb_pod_list_";
  if (!shared_trace(folder + "cpu200.csv")) GTEST_SKIP() << "the lists are not at ../shared/traces";
  for (const std::string list : {"cpu200", "gpushare40", "gpuspec25", "multigpu30"}) {
    const auto trace = read_shared(folder + list + ".csv", kKeepAll);
    expect_accounted(trace);
    EXPECT_EQ(trace->report.format, "openb");
    EXPECT_GE(trace->report.rows, 8152U) << list;
  }
}

}  // namespace openb_tests
}  // namespace orrery::sim
