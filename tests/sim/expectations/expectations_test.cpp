#include "sim/expectations/expectations.hpp"

#include <gmock/gmock.h>

#include "tests/sim/expectations/notices.hpp"

namespace orrery::sim {
namespace {

using scenarios::Expectation;
using scenarios::Scenario;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run of one job: granted 2 at 5 s, 4 at 60 s, one restart, succeeded at 100 s.
std::vector<std::string> judge(std::vector<Expectation> expectations) {
  Scenario scenario;
  scenario.file = "s.yaml";
  for (Expectation& expected : expectations) expected.line = 9;
  scenario.expectations = std::move(expectations);
  ExpectationJudge judge(scenario);
  judge.on_job(JobId{0}, "default.a", at(0));
  judge.on_notice(phase(0, JobPhase::Pending, Reason::Submitted, 0));
  judge.on_notice(allocated(5, 2));
  judge.on_notice(phase(5, JobPhase::Starting, Reason::Granted));
  judge.on_notice(phase(10, JobPhase::Running, Reason::AllReady));
  judge.on_notice(counted(50, Counter::Restarts, 1));
  judge.on_notice(ignored(55, Ignored::StaleGeneration));
  judge.on_notice(allocated(60, 4));
  judge.on_notice(phase(100, JobPhase::Succeeded, Reason::RequiredSucceeded, 2));
  return judge.unmet();
}

Expectation about_a() {
  Expectation expected;
  expected.job = "default.a";
  return expected;
}

TEST(Expectations, AMetOneIsSilent) {
  Expectation e = about_a();
  e.phase = JobPhase::Succeeded;
  e.by = at(100);
  e.restarts = 1;
  e.reschedules = 0;
  e.generation = 2;
  e.reason = Reason::RequiredSucceeded;
  e.waited_less_than = Duration::seconds(6);
  e.ignored = Ignored::StaleGeneration;
  e.phases = {JobPhase::Pending, JobPhase::Starting, JobPhase::Running, JobPhase::Succeeded};
  Expectation run;
  run.jobs_finished = 1;
  run.jobs_failed = 0;
  EXPECT_THAT(judge({e, run}), IsEmpty());
}

TEST(Expectations, ReplicasMustHoldSomewhereInTheWindow) {
  Expectation e = about_a();
  e.replicas = 2;
  e.after = at(30);
  e.by = at(40);
  EXPECT_THAT(judge({e}), IsEmpty()) << "2 lasts from 5 s to 60 s";
  e.after = at(61);
  e.by = at(70);
  EXPECT_THAT(judge({e}),
              ElementsAre("s.yaml:9: job default.a: replicas were 4, expected 2 between 61 s and "
                          "70 s"));
}

TEST(Expectations, UnmetOnesSayWhatWasFound) {
  Expectation e = about_a();
  e.phase = JobPhase::Failed;
  e.restarts = 3;
  e.waited_less_than = Duration::seconds(5);
  e.phases = {JobPhase::Pending};
  EXPECT_THAT(judge({e}),
              ElementsAre("s.yaml:9: job default.a: phase was Succeeded, expected Failed at the "
                          "end",
                          "s.yaml:9: job default.a: waited 5 s, expected less than 5 s",
                          "s.yaml:9: job default.a: restarts were 1, expected 3",
                          HasSubstr("phases were Pending, Starting, Running, Succeeded, expected "
                                    "Pending")));
}

TEST(Expectations, AJobThatNeverCameIsUnmet) {
  Expectation e;
  e.job = "default.b";
  e.phase = JobPhase::Succeeded;
  EXPECT_THAT(judge({e}), ElementsAre(HasSubstr("default.b: was never submitted")));
}

}  // namespace
}  // namespace orrery::sim
