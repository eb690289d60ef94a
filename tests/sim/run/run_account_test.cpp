// What the account of a run sums up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {
namespace run_account_tests {

Summary summary_of(const std::string& text, const std::string& policy) {
  const auto scenario = scenarios::parse_scenario(text, "test.yaml", {{"policy", policy}});
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  const auto workload = LoadedWorkload::load(*scenario);
  EXPECT_TRUE(workload);
  const auto made = policies::make_policy(policy, {});
  EXPECT_TRUE(made);
  auto report = run_model(*scenario, *workload, **made, {});
  EXPECT_TRUE(report);
  return report->summary;
}

// `never` fits on no node, and some policies ask to be woken for ever while it waits.
TEST(RunAccount, MeansDoNotDependOnHowLongTheWorldGoesOnWithoutWork) {
  const std::string text = R"(
cluster: {nodes: 1, gpus_per_node: 4}
jobs:
  - {name: works, gpus: 2, work: 100s}
  - {name: never, gpus: 1, cpu: 1000, work: 100s, at: 90s}
)";
  const Summary fifo = summary_of(text, "fifo");
  EXPECT_EQ(fifo.makespan_s, 100);
  EXPECT_GT(fifo.fragmentation_avg, 0);
  EXPECT_LT(fifo.fragmentation_avg, 0.1);
  for (const char* policy : {"fit", "las", "srtf"}) {
    const Summary other = summary_of(text, policy);
    EXPECT_EQ(other.makespan_s, fifo.makespan_s) << policy;
    EXPECT_DOUBLE_EQ(other.fragmentation_avg, fifo.fragmentation_avg) << policy;
  }
}

}  // namespace run_account_tests
}  // namespace orrery::sim
