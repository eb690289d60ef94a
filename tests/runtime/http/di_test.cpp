// DI-orchestrator's calls: the rows of docs/compatibility.md, at both prefixes.
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class DiTest : public HttpTest, public testing::WithParamInterface<const char*> {
 protected:
  DiTest() { serve(); }

  // A group with ports, as DI-engine's workers have them.
  static JobSpec group_of(std::int32_t replicas) {
    return JobBuilder("a").family(JobFamily::Group).replicas(replicas).spec();
  }

  Answer ask(const char* method,
             const std::string& rest,
             std::string_view body = {},
             std::string_view headers = {}) {
    return request(address(), method, GetParam() + rest, body, headers);
  }

  // Whatever the answer is, it comes in the envelope.
  Json envelope(const Answer& answer) {
    const Json json = answer.json();
    EXPECT_TRUE(json.is_object()) << answer.body;
    EXPECT_EQ(json.size(), 4u) << answer.body;
    EXPECT_EQ(json.value("success", false), answer.status == 200) << answer.body;
    EXPECT_EQ(json.value("code", 7), answer.status == 200 ? 0 : 1) << answer.body;
    EXPECT_TRUE(json.contains("data")) << answer.body;
    EXPECT_EQ(json.value("message", "").empty(), answer.status == 200) << answer.body;
    return json;
  }

  void expect_refused(const Answer& answer, int status, const std::string& words) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_THAT(envelope(answer)["message"].get<std::string>(), HasSubstr(words));
    EXPECT_TRUE(envelope(answer)["data"].is_null());
  }

  std::int32_t target(JobId id) {
    return control.with([&](const State& state) { return state.find(id)->target(RoleIndex{0}); });
  }

  std::uint32_t generation(JobId id) {
    return control.with([&](const State& state) { return state.find(id)->row.generation.value; });
  }
};

// After a lost answer a worker asks again, and must not get twice what it needs.
TEST_P(DiTest, AChangeOfReplicasWithAKeyIsMadeOnce) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  const auto add = [&](int count, const std::string& key) {
    return ask("POST",
               "/default.a/replicas",
               R"({"replicas":)" + std::to_string(count) + "}",
               "Idempotency-Key: " + key + "\r\n")
        .status;
  };
  EXPECT_EQ(add(1, "k1"), 200);
  EXPECT_EQ(add(1, "k1"), 200);
  EXPECT_EQ(target(id), 3);
  EXPECT_EQ(add(1, "k2"), 200);
  EXPECT_EQ(add(2, "k1"), 200) << "another request";
  EXPECT_EQ(target(id), 6);
  EXPECT_EQ(add(1, std::string(257, 'k')), 400);
}

TEST_P(DiTest, ReplicasAreAddressesInRankOrder) {
  control.running(group_of(6), 6);
  const Answer answer = ask("GET", "/default.a/replicas");
  ASSERT_EQ(answer.status, 200);
  const Json data = envelope(answer)["data"];
  const std::vector<std::string> expected = control.with([](const State& state) {
    std::vector<std::string> out;
    for (const Worker& worker : state.find(state.named("default.a"))->workers)
      out.push_back("10.0.0." + std::to_string(worker.node.value + 1) + ":" +
                    std::to_string(worker.first_port));
    return out;
  });
  EXPECT_EQ(data, Json(expected));
  EXPECT_THAT(expected[0], HasSubstr(":22270"));
}

TEST_P(DiTest, AJobWithoutWorkersHasNoReplicas) {
  control.step(JobSubmitted{0, std::make_shared<const JobSpec>(group_of(2))});
  EXPECT_TRUE(envelope(ask("GET", "/default.a/replicas"))["data"].is_null());
}

TEST_P(DiTest, AWorkerThatHasGoneHasNoAddress) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  control.end_worker(id, 0, 0);
  const Json data = envelope(ask("GET", "/default.a/replicas"))["data"];
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[0], "");
}

TEST_P(DiTest, PostAddsAndDeleteRemovesAndBothTakeEffect) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  Answer answer = ask("POST", "/default.a/replicas", R"({"replicas":3})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(envelope(answer)["data"].is_null());
  EXPECT_EQ(target(id), 5);
  EXPECT_EQ(envelope(ask("GET", "/default.a/replicas"))["data"].size(), 5u);
  answer = ask("DELETE", "/default.a/replicas", R"({"replicas":4})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(target(id), 1);
}

TEST_P(DiTest, APreemptibleJobOfTasksIsScaled) {
  JobBuilder job("a");
  job.family(JobFamily::Tasks).replicas(2).role("collector", 1).preemptible();
  job.raw().rescale = RescaleMode::Restart;
  const JobId id = control.running(job.spec(), 2);
  EXPECT_EQ(ask("POST", "/default.a/replicas", R"({"replicas":2})").status, 200);
  EXPECT_EQ(envelope(ask("GET", "/default.a/replicas"))["data"].size(), 7u) << "4 and 3";
  EXPECT_EQ(generation(id), 2u);
  EXPECT_EQ(ask("DELETE", "/default.a/replicas", R"({"replicas":2})").status, 200);
  EXPECT_EQ(target(id), 2);
  EXPECT_EQ(envelope(ask("GET", "/default.a/replicas"))["data"].size(), 3u);
}

TEST_P(DiTest, OutOfBoundsIsRefusedWholeAndNamesTheBounds) {
  const JobId id = control.running(JobBuilder("a").elastic(1, 4).spec(), 2);
  expect_refused(ask("POST", "/default.a/replicas", R"({"replicas":3})"), 400, "1 to 4");
  expect_refused(ask("DELETE", "/default.a/replicas", R"({"replicas":2})"), 400, "1 to 4");
  EXPECT_EQ(generation(id), 1u);
}

TEST_P(DiTest, ABodyThatIsNoNumberOfReplicasIsRefused) {
  control.running(JobBuilder("a").spec(), 1);
  for (const char* body : {"",
                           "{}",
                           "7",
                           "{",
                           R"({"replicas":"1"})",
                           R"({"replicas":-1})",
                           R"({"replicas":0})",
                           R"({"replicas":1,"n":2})"})
    for (const char* method : {"POST", "DELETE"})
      expect_refused(ask(method, "/default.a/replicas", body), 400, "");
}

TEST_P(DiTest, AnUnknownJobIsNotFoundWhateverTheMethod) {
  for (const char* method : {"GET", "POST", "DELETE"})
    expect_refused(ask(method, "/default.b/replicas", "{"), 404, "default.b");
  for (const char* method : {"GET", "POST"})
    expect_refused(ask(method, "/default.b/profilings", "{"), 404, "default.b");
}

TEST_P(DiTest, WhatIsNoIdIsRefused) {
  for (const char* id : {"/a", "/a.", "/.a", "/default.a.x", "/default.a.1.2", "/default.a."})
    expect_refused(ask("GET", std::string(id) + "/replicas"), 400, "NAMESPACE.NAME");
}

TEST_P(DiTest, OtherMethodsAreNotAllowedInTheEnvelopeToo) {
  const Answer answer = ask("PUT", "/default.a/replicas");
  expect_refused(answer, 405, "PUT");
  EXPECT_EQ(answer.header("Allow"), "GET, HEAD, POST, DELETE");
  expect_refused(ask("GET", "/default.a/replica"), 404, "");
}

TEST_P(DiTest, AJobThatIsOverIsAConflict) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  control.step(StopRequested{0, id});
  expect_refused(ask("POST", "/default.a/replicas", R"({"replicas":1})"), 409, "ended");
  expect_refused(ask("POST", "/default.a/profilings", R"({"x":1})"), 409, "ended");
  EXPECT_EQ(ask("GET", "/default.a/replicas").status, 200);
}

// --- generations ---

TEST_P(DiTest, OnlyTheCurrentGenerationMayAsk) {
  const JobId id =
      control.running(JobBuilder("a").replicas(2).rescale(RescaleMode::Restart).spec(), 2);
  EXPECT_EQ(ask("GET", "/default.a.1/replicas").status, 200);
  expect_refused(ask("GET", "/default.a.0/replicas"), 409, "generation 1");
  expect_refused(ask("POST", "/default.a.9/replicas", R"({"replicas":1})"), 409, "generation 1");
  EXPECT_EQ(ask("POST", "/default.a.1/replicas", R"({"replicas":1})").status, 200);
  ASSERT_EQ(generation(id), 2u);
  // Every worker was started anew: none of generation 1 lives.
  for (const char* method : {"GET", "POST", "DELETE"})
    expect_refused(ask(method, "/default.a.1/replicas", R"({"replicas":1})"), 409, "generation 2");
  expect_refused(ask("POST", "/default.a.1/profilings", R"({"x":1})"), 409, "generation 2");
  EXPECT_EQ(ask("GET", "/default.a.2/replicas").status, 200);
}

TEST_P(DiTest, ASurvivorOfARescaleMayAskWithTheGenerationOfItsStart) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  ASSERT_EQ(ask("POST", "/default.a/replicas", R"({"replicas":1})").status, 200);
  ASSERT_EQ(generation(id), 2u);
  EXPECT_EQ(ask("GET", "/default.a.1/replicas").status, 200);
  EXPECT_EQ(ask("POST", "/default.a.1/profilings", R"({"x":1})").status, 200);
  EXPECT_EQ(ask("POST", "/default.a.1/replicas", R"({"replicas":1})").status, 200);
  expect_refused(ask("GET", "/default.a.4/replicas"), 409, "generation 3");
}

TEST_P(DiTest, AWorkerThatSaysWhoItIsMustLive) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  ASSERT_EQ(ask("POST", "/default.a/replicas", R"({"replicas":1})").status, 200);
  const std::string job = std::to_string(id.value);
  const auto as = [&](const std::string& worker) {
    return ask("GET", "/default.a.1/replicas", {}, "X-Orrery-Worker: " + worker + "\r\n").status;
  };
  const auto name_of = [&](std::size_t rank) {
    return control.with([&](const State& state) {
      const Worker& worker = state.find(id)->workers[rank];
      return job + "-" + std::to_string(worker.incarnation.value) + "-" +
             std::to_string(worker.birth_rank.value);
    });
  };
  EXPECT_EQ(as(name_of(1)), 200);
  EXPECT_EQ(as(job + "-99-0"), 409);
  EXPECT_EQ(as("nonsense"), 409);
  EXPECT_EQ(as("99" + name_of(1)), 409);
}

// --- profilings ---

TEST_P(DiTest, ProfilingsAreMergedAndReadAgain) {
  control.running(JobBuilder("a").spec(), 1);
  EXPECT_EQ(envelope(ask("GET", "/default.a/profilings"))["data"], Json::object());
  EXPECT_EQ(ask("POST", "/default.a/profilings", R"({"speed":2.5,"loss":1})").status, 200);
  EXPECT_EQ(ask("POST", "/default.a/profilings", R"({"data":{"loss":0.5}})").status, 200);
  EXPECT_EQ(ask("POST", "/default.a/profilings", "{}").status, 200);
  EXPECT_EQ(envelope(ask("GET", "/default.a/profilings"))["data"],
            Json::parse(R"({"speed":2.5,"loss":0.5})"));
}

TEST_P(DiTest, ProfilingsThatAreNoNumbersAreNamed) {
  control.running(JobBuilder("a").spec(), 1);
  expect_refused(ask("POST", "/default.a/profilings", R"({"a":1,"b":"x"})"), 400, "b: found");
  expect_refused(ask("POST", "/default.a/profilings", R"({"data":{},"c":[1]})"), 400, "c: found");
  expect_refused(ask("POST", "/default.a/profilings", "[1]"), 400, "object");
  expect_refused(ask("POST", "/default.a/profilings", R"({"":1})"), 400, "key");
  expect_refused(ask("POST", "/default.a/profilings", R"({"a":1e999})"), 400, "JSON");
  EXPECT_EQ(envelope(ask("GET", "/default.a/profilings"))["data"], Json::object());
}

TEST_P(DiTest, MoreKeysThanAreKeptAreRefusedWhole) {
  control.running(JobBuilder("a").spec(), 1);
  Json many = Json::object();
  for (int i = 0; i < 65; ++i) many["k" + std::to_string(i)] = i;
  expect_refused(ask("POST", "/default.a/profilings", many.dump()), 400, "64");
  many.erase("k64");
  EXPECT_EQ(ask("POST", "/default.a/profilings", many.dump()).status, 200);
  expect_refused(ask("POST", "/default.a/profilings", R"({"other":1})"), 400, "64");
  EXPECT_EQ(ask("POST", "/default.a/profilings", R"({"k3":9})").status, 200);
}

TEST_P(DiTest, WithoutAStoreNothingIsAnsweredAsDone) {
  control.running(JobBuilder("a").spec(), 1);
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::StoreFailed;
    facts.why = "the disk is full";
  });
  expect_refused(ask("POST", "/default.a/replicas", R"({"replicas":1})"), 503, "disk");
  expect_refused(ask("POST", "/default.a/profilings", R"({"x":1})"), 503, "disk");
}

INSTANTIATE_TEST_SUITE_P(Prefixes,
                         DiTest,
                         testing::Values("/v2alpha1", "/v2alpha1/job"),
                         [](const auto& param) {
                           return param.index == 0 ? "Documented" : "Deployed";
                         });

}  // namespace
}  // namespace orrery::tests
