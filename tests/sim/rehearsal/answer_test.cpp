// Questions about a state: quantiles over runs, arrivals, whom a job delays.

#include "sim/rehearsal/answer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/driver/replay.hpp"
#include "core/forecast/forecast_json.hpp"
#include "sim/rehearsal/forecast.hpp"
#include "tests/sim/rehearsal/model_runs.hpp"

namespace orrery::sim {
namespace answer_tests {

Controller state_of(const std::string& text, const std::string& until) {
  Controller controller;
  MemoryStore store;
  record(text, store, {{"until", until}});
  EXPECT_TRUE(replay(store, controller));
  return controller;
}

Result<ForecastAnswer> ask(const Controller& from, const ForecastQuestion& question) {
  const scenarios::Scenario scenario = forked_scenario(from.state());
  ForecastMeans means;
  means.policy = [&scenario]() -> Result<std::unique_ptr<Policy>> { return policy_of(scenario); };
  return answer(from, question, means);
}

std::string json_of(const ForecastAnswer& answer) {
  JsonText json;
  json.begin_object();
  write_forecast(json, answer);
  json.end_object();
  return json.take();
}

/// Twenty jobs that took half of what they stated, one that runs and two that wait.
std::string half_of_what_was_stated() {
  std::string out =
      "policy: fifo\ncluster: {nodes: 1, gpus_per_node: 4}\n"
      "controller: {retain_finished: 7d}\njobs:\n";
  for (int k = 0; k < 20; ++k)
    out += "  - {name: over-" + std::to_string(k) + ", at: " + std::to_string(k * 10) +
           "s, replicas: 4, estimate: 20s, work: " + std::to_string(8 + k % 5) + "s}\n";
  out += "  - {name: runs, at: 400s, replicas: 4, estimate: 100s, work: 50s}\n";
  out += "  - {name: waits, at: 401s, replicas: 4, estimate: 100s, work: 50s}\n";
  out += "  - {name: last, at: 402s, replicas: 4, estimate: 10s, work: 10s}\n";
  return out;
}

TEST(Answer, OfOneRunIsTheForecast) {
  const Controller from = state_of(half_of_what_was_stated(), "410s");
  const auto told = ask(from, {});
  ASSERT_TRUE(told);
  ASSERT_EQ(told->jobs.size(), 3U);
  EXPECT_EQ(told->sequence, from.state().sequence);
  EXPECT_FALSE(told->has_delays);
  // A stated time is corrected by what such jobs took: half of the 100 s from 400 s on.
  EXPECT_NEAR(told->jobs[0].end.p50.in_seconds(), 450, 2);
  EXPECT_EQ(told->jobs[1].start.p50, told->jobs[0].end.p50);
  EXPECT_EQ(told->jobs[1].start.p10, told->jobs[1].start.p90);
}

TEST(Answer, OfManyRunsHasQuantilesInOrder) {
  const Controller from = state_of(half_of_what_was_stated(), "410s");
  ForecastQuestion question;
  question.runs = 20;
  const auto told = ask(from, question);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->runs, 20U);
  for (const ForetoldJob& job : told->jobs) {
    EXPECT_LE(job.end.p10, job.end.p50);
    EXPECT_LE(job.end.p50, job.end.p90);
  }
  EXPECT_LT(told->jobs[1].start.p10, told->jobs[1].start.p90);
  // Equal seeds, equal answers; other seeds, others.
  EXPECT_EQ(json_of(*told), json_of(*ask(from, question)));
  question.seed = 1000;
  EXPECT_NE(json_of(*told), json_of(*ask(from, question)));
}

TEST(Answer, TellsWhomAJobDelaysOverRuns) {
  const Controller from = state_of(half_of_what_was_stated(), "410s");
  ForecastQuestion question;
  question.job = from.state().named("default.waits");
  question.runs = 5;
  const auto told = ask(from, question);
  ASSERT_TRUE(told);
  ASSERT_EQ(told->jobs.size(), 1U);
  EXPECT_EQ(told->jobs[0].name, "default.waits");
  ASSERT_EQ(told->delays.size(), 1U);
  EXPECT_EQ(told->delays[0].name, "default.last");
  EXPECT_GT(told->delays[0].by, Duration::seconds(30));
}

TEST(Answer, LetsJobsArriveAsTheyDidRecently) {
  // A job of four devices each 10 s, which take 8 to 12 s: under srtf short ones pass the long one.
  std::string text = half_of_what_was_stated();
  text.replace(text.find("fifo"), 4, "srtf");
  const Controller from = state_of(text, "410s");
  ForecastQuestion question;
  question.job = from.state().named("default.waits");
  question.runs = 3;
  question.records_max = 5'000;
  const auto alone = ask(from, question);
  question.arrivals = Arrivals::Recent;
  const auto busy = ask(from, question);
  ASSERT_TRUE(alone);
  ASSERT_TRUE(busy);
  EXPECT_GT(busy->jobs[0].start.p50, alone->jobs[0].start.p50);
  EXPECT_GT(busy->records, alone->records);
  // Those that arrive are nobody's, and are not told of.
  EXPECT_EQ(busy->jobs.size(), 1U);
  for (const ForetoldDelay& delay : busy->delays)
    EXPECT_EQ(delay.name.find("arrival"), std::string::npos) << delay.name;
}

TEST(Answer, ReadsNothingButTheStateOverRunsToo) {
  const auto text = [](const char* work) {
    std::string out = half_of_what_was_stated();
    const std::string hidden = "runs, at: 400s, replicas: 4, estimate: 100s, work: ";
    out.replace(out.find(hidden) + hidden.size(), 3, work);
    return out;
  };
  const Controller slow = state_of(text("900s"), "410s");
  const Controller fast = state_of(text("20s"), "410s");
  ASSERT_EQ(slow.digest(), fast.digest());
  ForecastQuestion question;
  question.runs = 10;
  question.arrivals = Arrivals::Recent;
  question.records_max = 50'000;
  EXPECT_EQ(json_of(*ask(slow, question)), json_of(*ask(fast, question)));
}

// The last run goes on with the controller itself where that is given away, and the answer is that
// of copies.
TEST(Answer, IsTheSameOfAControllerThatIsGivenAway) {
  const Controller from = state_of(half_of_what_was_stated(), "410s");
  std::vector<ForecastQuestion> questions(5);
  questions[1].runs = 4;
  questions[2].job = from.state().named("default.waits");
  questions[3].job = questions[2].job;
  questions[3].runs = 3;
  questions[3].arrivals = Arrivals::Recent;
  questions[4].submitted = from.state().job(questions[2].job).spec;
  auto another = std::make_shared<JobSpec>(*questions[4].submitted);
  another->name = "default.another";
  questions[4].submitted = another;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    SCOPED_TRACE(i);
    const scenarios::Scenario scenario = forked_scenario(from.state());
    ForecastMeans means;
    means.policy = [&scenario]() -> Result<std::unique_ptr<Policy>> { return policy_of(scenario); };
    Controller own = from;
    const auto given = answer(std::move(own), questions[i], means);
    const auto copied = ask(from, questions[i]);
    ASSERT_TRUE(given);
    ASSERT_TRUE(copied);
    EXPECT_FALSE(given->jobs.empty());
    EXPECT_EQ(json_of(*given), json_of(*copied));
  }
}

TEST(Answer, RefusesWhatCannotBeAsked) {
  const Controller from = state_of(half_of_what_was_stated(), "410s");
  ForecastQuestion question;
  question.runs = 101;
  EXPECT_NE(ask(from, question).errors().front().message.find("1 to 100"), std::string::npos);
  question.runs = 1;
  question.job = from.state().named("default.over-3");
  EXPECT_NE(ask(from, question).errors().front().message.find("is over"), std::string::npos);
}

TEST(Answer, TakesQuantilesThatAreInstantsOfRuns) {
  std::vector<Instant> ten;
  for (int k = 10; k >= 1; --k) ten.push_back(Instant{k});
  EXPECT_EQ(spread_of(ten).p10, Instant{1});
  EXPECT_EQ(spread_of(ten).p50, Instant{5});
  EXPECT_EQ(spread_of(ten).p90, Instant{9});
  std::vector<Instant> one{Instant::never()};
  EXPECT_TRUE(spread_of(one).p10.is_never());
}

}  // namespace answer_tests
}  // namespace orrery::sim
