// /api/v1/forecast, and what is expected of jobs that wait.
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace forecast_tests {

using runtime::ForecastLoss;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr Instant kNow{1'000'000'000'000};

Instant after(std::int64_t seconds) { return kNow + Duration::seconds(seconds); }

class ForecastApiTest : public HttpTest {
 protected:
  ForecastApiTest() {
    auto answer = std::make_shared<ForecastAnswer>();
    answer->now = kNow;
    ForetoldJob& job = answer->jobs.emplace_back();
    job.name = "default.a";
    job.start = {after(10), after(20), Instant::never()};
    job.end = {after(30), after(40), Instant::never()};
    job.waits_for = "needs 4 devices";
    answer->has_delays = true;
    answer->delays = {{"default.b", Duration::seconds(5)}, {"default.c", Duration::forever()}};
    answer->runs = 3;
    forecasts.reply.answer = answer;
    forecasts.reply.age = Duration::milliseconds(1500);
    serve();
  }

  void lost(ForecastLoss loss, const std::string& why) {
    forecasts.reply = {};
    forecasts.reply.loss = loss;
    forecasts.reply.why = why;
  }

  // Submitted, and waits for ever: nobody grants it anything.
  void waiting(const std::string& name) { ASSERT_EQ(post("/api/v1/jobs", name).status, 200); }
};

TEST_F(ForecastApiTest, TellsOfOneJobOverRuns) {
  waiting("a");
  const Answer answer = get("/api/v1/forecast?job=a&runs=3&arrivals=recent&seed=7");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json told = answer.json();
  EXPECT_EQ(told["jobs"][0]["name"], "default.a");
  EXPECT_EQ(told["jobs"][0]["starts_in_s"], 20);
  EXPECT_EQ(told["jobs"][0]["starts_in"]["p10"], 10);
  EXPECT_TRUE(told["jobs"][0]["ends_in"]["p90"].is_null());
  EXPECT_EQ(told["delays"], Json::parse(R"([{"name":"default.b","by_s":5},
                                             {"name":"default.c","by_s":null}])"));
  EXPECT_EQ(told["age_s"], 1.5);
  ASSERT_EQ(forecasts.asked.size(), 1u);
  EXPECT_FALSE(forecasts.asked[0].job.is_none());
  EXPECT_EQ(forecasts.asked[0].runs, 3u);
  EXPECT_EQ(forecasts.asked[0].arrivals, Arrivals::Recent);
  EXPECT_EQ(forecasts.asked[0].seed, 7u);
}

TEST_F(ForecastApiTest, TellsOfAJobThatIsNotSubmitted) {
  ASSERT_EQ(post("/api/v1/forecast", "x 2").status, 200);
  ASSERT_EQ(post("/api/v1/forecast?only=y", "x\ny").status, 200);
  ASSERT_EQ(forecasts.asked.size(), 2u);
  EXPECT_EQ(forecasts.asked[0].submitted->name, "default.x");
  EXPECT_EQ(forecasts.asked[1].submitted->name, "default.y");
  EXPECT_EQ(get("/api/v1/jobs/x").status, 404);
  EXPECT_EQ(post("/api/v1/forecast", "bad").status, 400);
  EXPECT_THAT(message(post("/api/v1/forecast", "x\ny")), HasSubstr("has 2 jobs"));
  EXPECT_THAT(message(post("/api/v1/forecast?only=z", "x")), HasSubstr("0 jobs of the name"));
}

TEST_F(ForecastApiTest, RefusesWhatCannotBeAsked) {
  EXPECT_EQ(get("/api/v1/forecast?job=nobody").status, 404);
  EXPECT_EQ(get("/api/v1/forecast?runs=0").status, 400);
  EXPECT_EQ(get("/api/v1/forecast?runs=101").status, 400);
  EXPECT_THAT(message(get("/api/v1/forecast?arrivals=many")), HasSubstr("none"));
  EXPECT_THAT(message(get("/api/v1/forecast?what=x")), HasSubstr("what"));
  waiting("a");
  ASSERT_EQ(post("/api/v1/jobs/a/stop").status, 200);
  const Answer over = get("/api/v1/forecast?job=a");
  EXPECT_EQ(over.status, 409);
  EXPECT_THAT(message(over), HasSubstr("is over since"));
  EXPECT_TRUE(forecasts.asked.empty());
}

TEST_F(ForecastApiTest, SaysWhyThereIsNone) {
  struct Case {
    ForecastLoss loss;
    int status;
  };

  for (const Case& each : {Case{ForecastLoss::Unavailable, 503},
                           Case{ForecastLoss::NotStarted, 500},
                           Case{ForecastLoss::Late, 504},
                           Case{ForecastLoss::OutOfMemory, 507},
                           Case{ForecastLoss::Ended, 500},
                           Case{ForecastLoss::Failed, 500}}) {
    lost(each.loss, "said why");
    const Answer answer = get("/api/v1/forecast");
    EXPECT_EQ(answer.status, each.status);
    EXPECT_EQ(message(answer), "said why");
  }
  forecasts.takes = false;
  EXPECT_EQ(get("/api/v1/forecast").status, 429);
}

TEST_F(ForecastApiTest, AJobThatWouldBeRefusedIsRefused) {
  auto answer = std::make_shared<ForecastAnswer>();
  answer->refused = "a live job has this name";
  forecasts.reply.answer = answer;
  const Answer refused = post("/api/v1/forecast", "x");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(message(refused), "a live job has this name");
}

TEST_F(ForecastApiTest, JobsThatWaitHaveAnExpectedStart) {
  waiting("a");
  waiting("b");
  const JobId a = control.with([](const State& state) { return state.named("default.a"); });
  auto known = std::make_shared<runtime::KnownForecast>();
  known->answer = forecasts.reply.answer;
  known->starts[a] = after(20);
  forecasts.known = known;
  const Json jobs = get("/api/v1/jobs").json()["jobs"];
  EXPECT_EQ(jobs[0]["expected_start"], after(20).ns);
  EXPECT_EQ(jobs[0]["expected_as_of"], kNow.ns);
  EXPECT_TRUE(jobs[1]["expected_start"].is_null());
  EXPECT_EQ(get("/api/v1/jobs/a").json()["expected_start"], after(20).ns);
  // Granted meanwhile: what was expected is the past.
  control.grant(a, 1);
  EXPECT_TRUE(get("/api/v1/jobs/a").json()["expected_start"].is_null());
}

TEST_F(ForecastApiTest, TellsHowRightForecastsWere) {
  forecasts.right.outcomes = 1;
  forecasts.right.error_p50 = 0.25;
  forecasts.right.latest.push_back({JobId{3}, "default.a", kNow, after(1), after(100), after(80)});
  const Json told = get("/api/v1/forecast/accuracy").json();
  EXPECT_EQ(told["error_p50"], 0.25);
  EXPECT_EQ(told["latest"][0]["waited_s"], 80);
  EXPECT_EQ(told["latest"][0]["later_s"], -20);
  EXPECT_EQ(told["latest"][0]["error"], 0.25);
}

}  // namespace forecast_tests
}  // namespace orrery::tests
