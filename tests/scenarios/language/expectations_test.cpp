#include <gmock/gmock.h>

#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBase = with_cluster(R"(
jobs: [{name: a, replicas: {min: 1, max: 4}}, {name: b}]
faults: [{at: 60s, node: 1, kind: down, for: 5min}, {kind: down, process: weibull,
  rate_per_1000_node_days: 5, shape: 0.7, repair: {median: 1h, sigma: 1.1}},
  {at: 70s, job: a, rank: 2, kind: crash, exit_code: 9}]
)");

Instant at(std::int64_t seconds) { return Instant::zero() + Duration::seconds(seconds); }

TEST(Expectations, WindowsMayBeginAtAFault) {
  const Scenario scenario = load(kBase + R"(
expect:
  - {job: a, phase: Succeeded, by: 15min}
  - {job: a, replicas: 4, within: 20s, after: {fault: 0}}
  - {job: a, replicas: 2, within: 20s, after: 30s}
  - {job: b, restarts: 1, reschedules: 0, generation: 2, reason: RequiredSucceeded}
  - {jobs_finished: 2}
  - {job: a, phases: [Pending, Starting, Running]}
  - {ignored: {reason: StaleGeneration, at_least: 2}}
  - {job: b, waited_less_than: 10s}
)");
  EXPECT_EQ(scenario.expectations[0].by, at(900));
  EXPECT_EQ(scenario.expectations[1].after, at(60));
  EXPECT_EQ(scenario.expectations[1].by, at(80));
  EXPECT_EQ(scenario.expectations[2].by, at(50));
  EXPECT_EQ(scenario.expectations[3].restarts, 1U);
  EXPECT_EQ(scenario.expectations[3].reason, Reason::RequiredSucceeded);
  EXPECT_EQ(scenario.expectations[5].phases.size(), 3U);
  EXPECT_EQ(scenario.expectations[6].at_least, 2);
}

TEST(Expectations, FaultsOfNodesAndWorkersAndProcesses) {
  const Scenario scenario = load(kBase);
  EXPECT_EQ(scenario.faults[0].nodes, std::vector{NodeId{1}});
  EXPECT_EQ(scenario.faults[0].lasting, Duration::seconds(300));
  EXPECT_EQ(scenario.faults[1].kind, FaultKind::Crash);
  EXPECT_EQ(scenario.faults[1].worker.index, 2);
  EXPECT_EQ(scenario.fault_processes[0].law, FaultLaw::Weibull);
  EXPECT_EQ(scenario.fault_processes[0].repair_median, Duration::seconds(3600));
}

TEST(Expectations, ReferencesToNothingAreReported) {
  EXPECT_THAT(errors_of(kBase + "expect:\n- {job: c, restarts: 1}\n- {phase: Running}\n- {job: a}\n"
                                "- {job: a, phase: Runing}\n- {job: a, replicas: 1, within: 1s, "
                                "after: {fault: 1}}\n- {job: a, restarts: 1, by: 3s}\n"
                                "- {job: a, jobs_finished: 3}\n"),
              ElementsAre(HasSubstr("is 'c', which no job is called"),
                          HasSubstr("stands without 'job'"),
                          HasSubstr("expects nothing"),
                          HasSubstr("did you mean 'Running'?"),
                          HasSubstr("without a time of its own"),
                          HasSubstr("stands without phase, replicas, says or sits"),
                          HasSubstr("jobs_finished: stands with 'job', and speaks of all")));
}

TEST(Expectations, RequestsNameOneThingToDo) {
  const Scenario scenario = load(kBase + R"(
requests:
  - {at: 30s, job: a, scale: {add: 1}}
  - {at: 40s, job: a, scale: {role: worker, clear: true}}
  - {at: 60s, job: b, stop: true}
  - {at: 70s, job: b, delete: true}
  - {at: 80s, job: a, change: {priority: 5, run_deadline: 90s}}
profilings: [{at: 5s, job: a, rank: 0, values: {throughput: 120}}]
)");
  EXPECT_EQ(scenario.requests[0].scale->mode, ScaleMode::Add);
  EXPECT_EQ(scenario.requests[1].scale->mode, ScaleMode::Clear);
  EXPECT_FALSE(scenario.requests[2].scale.has_value());
  EXPECT_TRUE(scenario.requests[3].forgets);
  EXPECT_EQ(scenario.requests[4].change->priority, 5);
  EXPECT_EQ(scenario.requests[4].change->run_deadline, Duration::seconds(90));
  EXPECT_FALSE(scenario.requests[4].change->wait_deadline.has_value()) << "stays as it was";
  EXPECT_EQ(scenario.profilings[0].values[0].value, 120);
  EXPECT_THAT(errors_of(kBase + "requests: [{at: 1s, job: a}, {at: 1s, job: a, scale: {add: 1, "
                                "set: 2}}, {at: 1s, job: a, scale: {role: x, set: 2}}, "
                                "{at: 1s, job: a, stop: true, delete: true}, {at: 1s, job: a, "
                                "change: {}}]\n"),
              ElementsAre(HasSubstr("asks for 0 of scale, change, stop and delete"),
                          HasSubstr("has 2 of add, remove, set and clear"),
                          HasSubstr("does not have"),
                          HasSubstr("asks for 2 of scale"),
                          HasSubstr("changes nothing")));
}

}  // namespace
}  // namespace orrery::scenarios
