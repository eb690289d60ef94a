// What the account of a run sums up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/language/loader.hpp"
#include "tests/sim/run/one_run.hpp"

namespace orrery::sim {
namespace run_account_tests {

RunReport report_of(const std::string& text,
                    const std::vector<scenarios::Override>& overrides = {},
                    const RunOptions& options = {}) {
  const auto scenario = scenarios::parse_scenario(text, "test.yaml", overrides);
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  return run_of(*scenario, options);
}

Summary summary_of(const std::string& text, const std::string& policy) {
  return report_of(text, {{"policy", policy}}).summary;
}

/// How often a run was heard of, and when last.
class Hears final : public RunListener {
 public:
  bool on_progress(const RunProgress&) override {
    ++records;
    return false;
  }

  void on_turns(const RunProgress& progress) override {
    ++turns;
    last = progress;
  }

  int records = 0;
  int turns = 0;
  RunProgress last;
};

// Agents make many turns, and few records.
TEST(RunAccount, ALongRunIsHeardOfHoweverFewRecordsItMakes) {
  Hears hears;
  RunOptions options;
  options.listeners = {&hears};
  const RunReport report = report_of(R"(
cluster: {nodes: 2, gpus_per_node: 4}
control: agents
jobs: [{name: first, gpus: 4, work: 10h}, {name: second, gpus: 4, work: 20h}]
)",
                                     {},
                                     options);
  EXPECT_LT(report.summary.events, 65'536U);
  EXPECT_LE(hears.records, 1) << "at its beginning";
  EXPECT_GT(hears.turns, 1);
  EXPECT_EQ(hears.last.jobs_submitted, 2U);
  EXPECT_EQ(hears.last.jobs_over, 1U);
  EXPECT_GT(hears.last.now, Instant::zero() + Duration::seconds(36'000));
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

// In the middle of an instant a job that is placed at once waits, and one may be given what another
// has not given back yet.
TEST(RunAccount, QueuesAreLookedAtWhenAnInstantIsOver) {
  const RunReport report = report_of(R"(
cluster: {nodes: 1, gpus_per_node: 4}
policy: {name: fifo, queues: {tree: [{name: red, weight: 1}, {name: blue, weight: 3}]}}
jobs:
  - {name: first, gpus: 4, work: 100s, group: red}
  - {name: second, gpus: 2, work: 100s, group: red, at: 200s}
  - {name: third, gpus: 2, work: 100s, group: blue, at: 200s}
  - {name: fourth, gpus: 4, work: 100s, group: blue, at: 250s}
)");
  std::vector<std::string> seen;
  for (const QueueMeans& queue : report.summary.queues)
    seen.push_back(queue.name + ": " + std::to_string(static_cast<int>(queue.used_max)) +
                   " at most, " + std::to_string(queue.waiting_max) + " waiting");
  EXPECT_EQ(seen,
            (std::vector<std::string>{"red: 4 at most, 0 waiting",
                                      "blue: 4 at most, 1 waiting",
                                      "default: 0 at most, 0 waiting"}));
  std::vector<double> looked;
  for (const QueueSamples::Point& point : report.queue_points)
    looked.push_back(point.at.in_seconds());
  EXPECT_EQ(looked, (std::vector<double>{0, 100, 200, 250, 300, 400}));
}

}  // namespace run_account_tests
}  // namespace orrery::sim
