// Expectations about workers, incidents, nodes and leaders.
#include <gmock/gmock.h>

#include "sim/expectations/expectations.hpp"
#include "tests/sim/expectations/notices.hpp"

namespace orrery::sim {
namespace recoveries_tests {

using scenarios::Expectation;
using scenarios::Scenario;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job with two incidents, 10 s and 30 s long, and two restarts of one worker of its second role.
std::vector<std::string> judge(std::vector<Expectation> expectations) {
  Scenario scenario;
  scenario.file = "s.yaml";
  for (Expectation& expected : expectations) expected.line = 9;
  scenario.expectations = std::move(expectations);
  ExpectationJudge judge(scenario);
  judge.on_job(JobId{0}, "default.a", at(0));
  judge.on_notice(phase(10, JobPhase::Running, Reason::AllReady));
  judge.on_fault(3, at(50));
  judge.on_fault(3, at(90));
  judge.on_notice(incident(50, 1, Reason::WorkerFailed));
  judge.on_notice(lost_work(50, 12.5));
  judge.on_notice(phase(50, JobPhase::Restarting, Reason::WorkerFailed));
  judge.on_notice(restarted(55, 1, 0));
  judge.on_notice(phase(60, JobPhase::Running, Reason::AllReady));
  judge.on_notice(recovered(60, 1));
  judge.on_notice(incident(90, 2, Reason::NodeLost));
  judge.on_notice(node_change(90, 7, NodeChange::Excluded));
  judge.on_notice(node_change(90, 8, NodeChange::SpareUsed));
  judge.on_notice(restarted(95, 1, 0));
  judge.on_notice(node_change(100, 7, NodeChange::Relaunched));
  judge.on_notice(counted(100, Counter::NodesRelaunched, 1));
  judge.on_notice(recovered(120, 2));
  return judge.unmet();
}

Expectation about_a() {
  Expectation expected;
  expected.job = "default.a";
  return expected;
}

TEST(Recoveries, MetExpectationsAreSilent) {
  Expectation e = about_a();
  e.restarted = {{RoleIndex{1}, 0, "actor/0"}};
  e.not_restarted = {{RoleIndex{0}, 0, "learner/0"}, {RoleIndex{1}, 1, "actor/1"}};
  e.worker_restarts = {{e.restarted[0], 2}};
  e.lost_work_less_than = 13;
  e.incidents = 2;
  e.incidents_of = {{Reason::WorkerFailed, 1}, {Reason::NodeLost, 1}, {Reason::WorkerHung, 0}};
  e.mttr_less_than = Duration::seconds(21);
  e.recovered_within = Duration::seconds(30);
  e.nodes_relaunched = 1;
  Expectation run;
  run.excluded = {NodeId{7}};
  run.spares_used = 1;
  run.nodes_relaunched = 1;
  run.incidents = 2;
  run.epochs = 0;
  EXPECT_THAT(judge({e, run}), IsEmpty());
}

TEST(Recoveries, UnmetExpectationsSayWhatWasFound) {
  Expectation e = about_a();
  e.restarted = {{RoleIndex{0}, 0, "learner/0"}};
  e.not_restarted = {{RoleIndex{1}, 0, "actor/0"}};
  e.worker_restarts = {{e.not_restarted[0], 1}};
  e.untouched = true;
  e.lost_work_less_than = 12.5;
  e.incidents = 1;
  e.incidents_of = {{Reason::NodeLost, 2}};
  e.mttr_less_than = Duration::seconds(20);
  e.recovered_within = Duration::seconds(29);
  e.says = "limit";
  EXPECT_THAT(judge({e}),
              ElementsAre(HasSubstr("it said '', expected 'limit' in it"),
                          HasSubstr("worker learner/0 was never started again"),
                          HasSubstr("worker actor/0 was started again 2 times, expected never"),
                          HasSubstr("worker actor/0 was started again 2 times, expected 1"),
                          HasSubstr("expected untouched"),
                          HasSubstr("lost work was 12.5, expected less than 12.5"),
                          HasSubstr("incidents were 2, expected 1"),
                          HasSubstr("with cause NodeLost were 1, expected 2"),
                          HasSubstr("mean time to recovery was 20 s, expected less than 20 s"),
                          HasSubstr("longest recovery was 30 s, expected 29 s")));
  Expectation run;
  run.no_worker_restarted = true;
  run.excluded.emplace();
  run.spares_used = 0;
  run.epochs = 2;
  EXPECT_THAT(judge({run}),
              ElementsAre(HasSubstr("run: workers were started again 2 times"),
                          HasSubstr("excluded nodes were 7, expected none"),
                          HasSubstr("spare nodes used were 1, expected 0"),
                          HasSubstr("epochs were 0, expected 2")));
}

TEST(Recoveries, TheTimeToRecoveryOfNothingIsNoProof) {
  RecoveryRecord record;
  EXPECT_EQ(record.mean_time_to_recovery(), Duration::zero());
  record.on_notice(incident(5, 1, Reason::NodeLost));
  EXPECT_TRUE(record.mean_time_to_recovery().is_forever()) << "it never ended";
  Scenario scenario;
  scenario.expectations.push_back(about_a());
  scenario.expectations[0].recovered_within = Duration::seconds(1);
  ExpectationJudge judge(scenario);
  judge.on_job(JobId{0}, "default.a", at(0));
  EXPECT_THAT(judge.unmet(), ElementsAre(HasSubstr("there was no incident")));
}

TEST(Recoveries, AJobThatFailsForGoodHasNotRecovered) {
  RecoveryRecord record;
  record.on_notice(incident(5, 1, Reason::WorkerFailed));
  record.on_notice(phase(6, JobPhase::Restarting, Reason::WorkerFailed));
  record.on_notice(phase(7, JobPhase::Running, Reason::AllReady));
  record.on_notice(recovered(7, 1));
  EXPECT_EQ(record.longest_recovery(), Duration::seconds(2));
  record.on_notice(incident(9, 2, Reason::WorkerFailed));
  record.on_notice(phase(9, JobPhase::Failed, Reason::BackoffLimitReached));
  record.on_notice(recovered(9, 2));
  EXPECT_TRUE(record.longest_recovery().is_forever());
  EXPECT_TRUE(record.mean_time_to_recovery().is_forever());
}

TEST(Recoveries, WhatAWiderIncidentTakesOverRecoversWithThatOne) {
  RecoveryRecord record;
  record.on_notice(incident(5, 1, Reason::WorkerFailed));
  record.on_notice(phase(5, JobPhase::Restarting, Reason::WorkerFailed));
  record.on_notice(recovered(8, 1));
  record.on_notice(incident(8, 2, Reason::NodeLost));
  EXPECT_TRUE(record.incidents()[0].recovered.is_never());
  record.on_notice(phase(20, JobPhase::Running, Reason::AllReady));
  record.on_notice(recovered(20, 2));
  EXPECT_EQ(record.longest_recovery(), Duration::seconds(15));
  EXPECT_EQ(record.incidents()[1].recovered, at(20));
}

TEST(Recoveries, AnIncidentThatIsToldAgainIsOne) {
  RecoveryRecord record;
  record.on_notice(incident(5, 1, Reason::NodeLost));
  record.on_notice(incident(7, 1, Reason::WorkerFailed));
  record.on_notice(recovered(9, 1));
  ASSERT_EQ(record.incidents().size(), 1U);
  EXPECT_EQ(record.incidents_of(Reason::WorkerFailed), 1);
  EXPECT_EQ(record.longest_recovery(), Duration::seconds(2));
}

TEST(Recoveries, WindowsMayBeginWhenAFaultStrikes) {
  Expectation e = about_a();
  e.phase = JobPhase::Restarting;
  e.after_fault = 3;
  e.within = Duration::seconds(5);
  EXPECT_THAT(judge({e}), IsEmpty()) << "the first strike counts";
  e.phase = JobPhase::Succeeded;
  EXPECT_THAT(judge({e}), ElementsAre(HasSubstr("between 50 s and 55 s")));
  e.after_fault = 4;
  EXPECT_THAT(judge({e}), ElementsAre(HasSubstr("never struck")));
}

}  // namespace recoveries_tests
}  // namespace orrery::sim
