// /api/v1/jobs/{job}/members and /profilings: what workers need.
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace members_tests {

using Json = nlohmann::json;

class MembersTest : public HttpTest {
 protected:
  MembersTest() { serve(); }

  // A client that waits for a generation above `generation`.
  HttpClient waiting(const std::string& job, int generation, int timeout_s = 60) {
    HttpClient client(address());
    client.send("GET /api/v1/jobs/" + job + "/members?generation=" + std::to_string(generation) +
                "&timeout_s=" + std::to_string(timeout_s) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client;
  }
};

TEST_F(MembersTest, TheMembershipAsItIs) {
  control.running(JobBuilder("a").replicas(2).role("actor", 1).spec(), 2);
  const Json now = get("/api/v1/jobs/a/members").json();
  EXPECT_EQ(now["job"], "default.a");
  EXPECT_EQ(now["generation"], 1);
  EXPECT_EQ(now["world_size"], 3);
  ASSERT_EQ(now["members"].size(), 3u);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(now["members"][rank]["rank"], rank);
  EXPECT_EQ(now["members"][2]["role"], "actor");
  EXPECT_EQ(now["members"][2]["local_rank"], 0);
  EXPECT_EQ(now["members"][2]["address"], "10.0.0.1");
  EXPECT_EQ(get("/api/v1/jobs/b/members").status, 404);
}

TEST_F(MembersTest, AnOlderGenerationIsAnsweredAtOnce) {
  control.running(JobBuilder("a").spec(), 1);
  EXPECT_EQ(waiting("a", 0).receive().json()["generation"], 1);
}

TEST_F(MembersTest, SurvivorsHearOfTheNextGeneration) {
  control.running(JobBuilder("a").replicas(2).spec(), 2);
  control.running(JobBuilder("b").spec(), 1);
  std::vector<HttpClient> survivors;
  for (int i = 0; i < 50; ++i) survivors.push_back(waiting("a", 1));
  EXPECT_EQ(post("/api/v1/jobs/b/scale", R"({"add":1})").status, 200) << "another job's change";
  EXPECT_EQ(post("/api/v1/jobs/a/scale", R"({"add":1})").status, 200);
  for (HttpClient& survivor : survivors) {
    const Json now = survivor.receive().json();
    EXPECT_EQ(now["generation"], 2);
    EXPECT_EQ(now["members"].size(), 3u);
  }
}

TEST_F(MembersTest, TheEndOfAJobEndsTheWait) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  HttpClient client = waiting("a", 1);
  control.step(StopRequested{0, id});
  EXPECT_EQ(client.receive().json()["phase"], "Failed");
  EXPECT_EQ(waiting("nobody", 1).receive().status, 404);
}

TEST_F(MembersTest, NothingNewIsToldAsSuch) {
  control.running(JobBuilder("a").spec(), 1);
  EXPECT_EQ(waiting("a", 1, 1).receive().status, 204);
}

TEST_F(MembersTest, WhoDoesNotWaitIsToldAtOnceThatThereIsNothingNew) {
  control.running(JobBuilder("a").spec(), 1);
  EXPECT_EQ(get("/api/v1/jobs/a/members?generation=1&timeout_s=0").status, 204);
  const Answer answer = get("/api/v1/jobs/a/members?generation=0&timeout_s=0");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["generation"], 1);
}

TEST_F(MembersTest, WhoWaitsWhileTheLeaderChangesIsSentOn) {
  control.running(JobBuilder("a").spec(), 1);
  HttpClient one = waiting("a", 1);
  HttpClient other = waiting("a", 1);
  ASSERT_EQ(get("/api/v1/jobs/a").status, 200);
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::Following;
    facts.leader_url = "http://127.0.0.1:9";
  });
  control.step(TimeReached{});
  control.step(StopRequested{0, JobId{99}});
  EXPECT_EQ(one.receive().status, 307);
  EXPECT_EQ(other.receive().status, 307);
}

TEST_F(MembersTest, BadParametersAreRefused) {
  EXPECT_EQ(get("/api/v1/jobs/a/members?generation=x").status, 400);
  EXPECT_EQ(get("/api/v1/jobs/a/members?timeout_s=601&generation=1").status, 400);
}

TEST_F(MembersTest, AWorkersProfilingIsKeptUnderItsRank) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  const std::string worker = control.with([&](const State& state) {
    const Worker& second = state.find(id)->workers[1];
    return std::to_string(id.value) + "-" + std::to_string(second.incarnation.value) + "-" +
           std::to_string(second.birth_rank.value);
  });
  EXPECT_EQ(post("/api/v1/jobs/a/profilings", R"({"speed":4})").status, 200);
  EXPECT_EQ(
      post("/api/v1/jobs/a/profilings", R"({"speed":5})", "X-Orrery-Worker: " + worker + "\r\n")
          .status,
      200);
  const Json now = get("/api/v1/jobs/a/profilings").json();
  EXPECT_EQ(now["latest"], Json::parse(R"({"speed":5.0})"));
  ASSERT_EQ(now["profilings"][0]["latest"].size(), 2u);
  EXPECT_EQ(now["profilings"][0]["latest"][0]["value"], 4.0);
  EXPECT_EQ(now["profilings"][0]["latest"][1]["rank"], 1);
  EXPECT_EQ(control.measured(), (std::vector{Rank::none(), Rank{1}}))
      << "where no worker is named it is a sign of life of the whole job";
  EXPECT_EQ(post("/api/v1/jobs/b/profilings", "{}").status, 404);
}

// It counted as rank 0's, and as a sign of life of all workers.
TEST_F(MembersTest, AProfilingOfNoLivingWorkerIsRefused) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  const JobId other = control.running(JobBuilder("b").spec(), 1);
  const auto of = [](JobId job, std::uint32_t incarnation) {
    return std::to_string(job.value) + "-" + std::to_string(incarnation) + "-0";
  };
  for (const std::string& worker : {of(id, 99), of(other, 1), std::string("a")}) {
    const Answer answer =
        post("/api/v1/jobs/a/profilings", R"({"speed":5})", "X-Orrery-Worker: " + worker + "\r\n");
    EXPECT_EQ(answer.status, 409) << worker;
    EXPECT_THAT(message(answer), testing::HasSubstr(worker));
  }
  EXPECT_TRUE(control.measured().empty());
}

}  // namespace members_tests
}  // namespace orrery::tests
