// Questions to a controller's forecasts: answered by a process, bounded in time, memory and number.

#include "runtime/forecast/forecast_desk.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/base/digest.hpp"
#include "tests/runtime/http/fake_control.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::runtime {
namespace forecast_desk_tests {

ForecastDeskOptions options_of(const std::string& how) {
  ForecastDeskOptions out;
  out.helper.program = {PLANTED_FORECASTER};
  out.helper.policy.name = how;
  out.helper.deadline = Duration::seconds(60);
  out.helper.memory = Bytes{std::int64_t{256} << 20};
  out.refresh = Duration::zero();
  return out;
}

ForecastReply asked(ForecastDesk& desk, const ForecastQuestion& question = {}) {
  const auto told = std::make_shared<std::promise<ForecastReply>>();
  auto future = told->get_future();
  EXPECT_TRUE(desk.ask(question, [told](const ForecastReply& reply) { told->set_value(reply); }));
  return future.get();
}

class ForecastDeskTest : public ::testing::Test {
 protected:
  // A job that nobody grants anything waits.
  JobId waiting(const std::string& name) {
    std::promise<JobId> promise;
    control_.ask(JobSubmitted{0, std::make_shared<const JobSpec>(tests::job(name).spec())},
                 [&](const RequestOutcome& outcome) { promise.set_value(outcome.job); });
    return promise.get_future().get();
  }

  Digest digest() {
    return control_.with([](const State& state) { return state.digest(); });
  }

  tests::FakeControl control_;
};

TEST_F(ForecastDeskTest, AnswersFromACopyOfTheState) {
  const JobId job = waiting("waits");
  const Digest before = digest();
  ForecastDesk desk(control_, options_of("answers"));
  const ForecastReply reply = asked(desk);
  ASSERT_NE(reply.answer, nullptr) << reply.why;
  ASSERT_EQ(reply.answer->jobs.size(), 1U);
  EXPECT_EQ(reply.answer->jobs[0].id, job);
  EXPECT_EQ(reply.answer->jobs[0].name, "default.waits");
  EXPECT_EQ(digest(), before);
  EXPECT_EQ(desk.figures().replies[0], 1U);
  // The same question of the same state is not put to another process.
  EXPECT_NE(asked(desk).answer, nullptr);
  EXPECT_EQ(desk.figures().replies[0], 1U);
  EXPECT_EQ(desk.figures().reused, 1U);
  // Another one is.
  ForecastQuestion other;
  other.runs = 3;
  EXPECT_EQ(asked(desk, other).answer->runs, 3U);
  EXPECT_EQ(desk.figures().replies[0], 2U);
}

TEST_F(ForecastDeskTest, SaysWhyThereIsNoAnswerAndTheControllerIsUnharmed) {
  waiting("waits");
  const Digest before = digest();

  struct Case {
    const char* how;
    ForecastLoss loss;
    const char* said;
  };

  for (const Case& each : {Case{"exits", ForecastLoss::Ended, "exit code 5"},
                           Case{"crashes", ForecastLoss::Ended, "killed by signal 11"},
                           Case{"throws", ForecastLoss::Failed, "planted in a test"},
                           Case{"garbles", ForecastLoss::Failed, "MiB"}}) {
    SCOPED_TRACE(each.how);
    ForecastDesk desk(control_, options_of(each.how));
    const ForecastReply reply = asked(desk);
    EXPECT_EQ(reply.answer, nullptr);
    EXPECT_EQ(reply.loss, each.loss);
    EXPECT_NE(reply.why.find(each.said), std::string::npos) << reply.why;
    EXPECT_EQ(desk.figures().replies[static_cast<std::size_t>(each.loss)], 1U);
  }
  EXPECT_EQ(digest(), before);
}

TEST_F(ForecastDeskTest, KillsOneThatTakesTooLong) {
  ForecastDeskOptions options = options_of("loops");
  options.helper.deadline = Duration::milliseconds(200);
  ForecastDesk desk(control_, options);
  const ForecastReply reply = asked(desk);
  EXPECT_EQ(reply.loss, ForecastLoss::Late);
  EXPECT_NE(reply.why.find("200 ms of forecast.deadline"), std::string::npos) << reply.why;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(ForecastDeskTest, EndsOneThatNeedsTooMuchMemory) {
  ForecastDesk desk(control_, options_of("leaks"));
  const ForecastReply reply = asked(desk);
  EXPECT_EQ(reply.loss, ForecastLoss::OutOfMemory) << reply.why;
  EXPECT_NE(reply.why.find("256 MiB that forecast.memory allows"), std::string::npos) << reply.why;
}
#endif

TEST_F(ForecastDeskTest, SaysWhatCannotBeStarted) {
  ForecastDeskOptions options = options_of("answers");
  options.helper.program = {"/nowhere/at/all"};
  ForecastDesk desk(control_, options);
  EXPECT_EQ(asked(desk).loss, ForecastLoss::NotStarted);
}

TEST_F(ForecastDeskTest, TurnsAwayWhatIsTooMuchAndEndsAtOnceWhileOneIsAsked) {
  auto desk = std::make_unique<ForecastDesk>(control_, options_of("loops"));
  std::size_t taken = 0;
  while (desk->ask({}, [](const ForecastReply&) {})) ++taken;
  // One of them may be with the process already.
  EXPECT_GE(taken, kForecastsWaitingMax);
  EXPECT_LE(taken, kForecastsWaitingMax + 1);
  EXPECT_EQ(desk->figures().refused, 1U);
  desk.reset();
}

TEST_F(ForecastDeskTest, DoesNotAskAControllerThatDoesNotLead) {
  control_.set_facts([](ControllerFacts& facts) {
    facts.admission = Admission::Following;
    facts.why = "controller b leads";
  });
  ForecastDesk desk(control_, options_of("answers"));
  const ForecastReply reply = asked(desk);
  EXPECT_EQ(reply.loss, ForecastLoss::Unavailable);
  EXPECT_EQ(reply.why, "controller b leads");
}

TEST_F(ForecastDeskTest, ForetellsWhatWaitsAndSeesWhatComes) {
  ForecastDeskOptions options = options_of("answers");
  options.refresh = Duration::seconds(1);
  ForecastDesk desk(control_, options);
  const JobId job = waiting("waits");
  while (desk.latest() == nullptr) std::this_thread::yield();
  EXPECT_TRUE(desk.latest()->starts.contains(job));
  EXPECT_EQ(desk.accuracy()->waiting, 1U);
  control_.grant(job, 1);
  while (desk.accuracy()->outcomes == 0) std::this_thread::yield();
  EXPECT_EQ(desk.accuracy()->latest[0].name, "default.waits");
  EXPECT_EQ(desk.accuracy()->waiting, 0U);
  // Nothing waits any more, so nothing is foretold.
  while (desk.latest() != nullptr) std::this_thread::yield();
}

}  // namespace forecast_desk_tests
}  // namespace orrery::runtime
