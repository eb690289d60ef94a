// /api/v1/jobs.
#include "core/base/utc_text.hpp"
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace jobs_tests {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

class JobsTest : public HttpTest {
 protected:
  JobsTest() { serve(); }

  std::vector<std::string> names(std::string_view query) {
    std::vector<std::string> out;
    const Answer answer = get("/api/v1/jobs" + std::string(query));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json list = answer.json();
    for (const Json& job : list["jobs"]) out.push_back(job["name"]);
    return out;
  }

  std::uint64_t submitted() {
    return control.with([](const State& state) { return state.totals.submitted; });
  }

  std::int32_t target(JobId id) {
    return control.with([&](const State& state) { return state.find(id)->target(RoleIndex{0}); });
  }
};

TEST_F(JobsTest, ASubmissionIsInStateWhenItIsAnswered) {
  const Answer answer = post("/api/v1/jobs", "a\nimage\nb 2\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["jobs"],
            Json::parse(R"([{"name":"default.a","id":0},{"name":"default.b","id":1}])"));
  EXPECT_EQ(answer.json()["warnings"], Json::parse(R"(["image: is not run here"])"));
  EXPECT_EQ(submitted(), 2u);
}

TEST_F(JobsTest, ABadTextIsRefusedWithItsPlace) {
  const Answer answer = post("/api/v1/jobs?file=jobs.yaml", "a\nbad\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(message(answer), HasSubstr("jobs.yaml:2: job: found bad"));
  EXPECT_EQ(submitted(), 0u);
  EXPECT_EQ(post("/api/v1/jobs", "").status, 400);
}

TEST_F(JobsTest, WhatTheCoreRefusesIsUnprocessable) {
  const Answer answer = post("/api/v1/jobs", "good\na 0\nlate\n");
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(message(answer), HasSubstr("min_replicas"));
  EXPECT_EQ(submitted(), 0u) << "those beside it wait for a text that is good";
  EXPECT_EQ(post("/api/v1/jobs", "a 0\n").status, 422);
}

// More than are looked at between two decisions.
TEST_F(JobsTest, AllJobsOfALongTextAreLookedAt) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += "j" + std::to_string(i) + "\n";
  const Answer refused = post("/api/v1/jobs", many + "a 0\n" + "b\nc 0\n");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.json()["error"]["details"].size(), 2u) << refused.body;
  EXPECT_EQ(submitted(), 0u);
  EXPECT_EQ(post("/api/v1/jobs", many).json()["jobs"].size(), 40u);
  const Answer applied = post("/api/v1/jobs?apply=1", many + "last\n");
  ASSERT_EQ(applied.json()["jobs"].size(), 41u) << applied.body;
  EXPECT_EQ(applied.json()["jobs"][39]["result"], "unchanged");
  EXPECT_EQ(applied.json()["jobs"][40]["result"], "submitted");
  EXPECT_EQ(submitted(), 41u);
}

// Of what is in already only the answer was lost: a text that was good then is good now.
TEST_F(JobsTest, ARepeatedSubmissionIsNotHeldToWhatIsRefusedNow) {
  const std::string key = "Idempotency-Key: k1\r\n";
  ASSERT_EQ(post("/api/v1/jobs", "a\nb\n", key).status, 200);
  ASSERT_EQ(post("/api/v1/jobs", "a\nb\nc 0\n", key).status, 422);
  EXPECT_EQ(post("/api/v1/jobs", "a\nb\n", key).status, 200);
  EXPECT_EQ(submitted(), 2u);
}

TEST_F(JobsTest, ANameThatIsTakenIsAConflictBeforeAnythingIsIn) {
  ASSERT_EQ(post("/api/v1/jobs", "a").status, 200);
  const Answer answer = post("/api/v1/jobs", "b\na\n");
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(message(answer), HasSubstr("default.a"));
  EXPECT_EQ(submitted(), 1u);
}

TEST_F(JobsTest, ARepeatedSubmissionIsTakenOnce) {
  for (const std::string key : {"Idempotency-Key: k1\r\n", "Idempotency-Key: k1\r\n"})
    EXPECT_EQ(post("/api/v1/jobs", "a\nb\n", key).status, 200);
  EXPECT_EQ(post("/api/v1/jobs", "a\n", "Idempotency-Key: k2\r\n").status, 409);
  EXPECT_EQ(post("/api/v1/jobs?request=7", "c").status, 200);
  EXPECT_EQ(post("/api/v1/jobs?request=7", "c").status, 200);
  EXPECT_EQ(submitted(), 3u);
}

// It was a conflict with the job that has the name now.
TEST_F(JobsTest, ARepeatedSubmissionIsKnownAfterItsNameIsUsedAgain) {
  const std::string first = "Idempotency-Key: k1\r\n";
  ASSERT_EQ(post("/api/v1/jobs", "a", first).status, 200);
  ASSERT_EQ(post("/api/v1/jobs/a/stop").status, 200);
  ASSERT_EQ(post("/api/v1/jobs", "a", "Idempotency-Key: k2\r\n").status, 200);
  EXPECT_EQ(post("/api/v1/jobs", "a", first).status, 200);
  EXPECT_EQ(post("/api/v1/jobs", "a", "Idempotency-Key: k3\r\n").status, 409);
  EXPECT_EQ(submitted(), 2u);
}

TEST_F(JobsTest, WhoSubmittedIsToldAndTimesHaveATextBesideTheNumber) {
  ASSERT_EQ(post("/api/v1/jobs", "a", "Orrery-User: ada\r\n").status, 200);
  ASSERT_EQ(post("/api/v1/jobs", "b", "Orrery-User: a b\r\n").status, 200);
  const auto job = get("/api/v1/jobs/a").json();
  EXPECT_EQ(job["user"], "ada");
  EXPECT_EQ(get("/api/v1/jobs/b").json()["user"], "") << "no name has a space";
  EXPECT_EQ(job["submitted_utc"], utc_text(Instant{job["submitted"].get<std::int64_t>()}));
  EXPECT_TRUE(job["completed_utc"].is_null());
  EXPECT_TRUE(job["conditions"][0]["since_utc"].is_string());
}

TEST_F(JobsTest, AFailureHasItsWorkerExitCodeAndLastLines) {
  const JobId id = control.running(JobBuilder("a").limit(0).spec(), 1);
  const Worker worker = control.with([&](const State& state) { return state.job(id).workers[0]; });
  control.end_worker(id, 0, 7);
  control.step(
      FailureExplained{id, worker.incarnation, worker.birth_rank, "it ended with 7", "no file\n"});
  const auto job = get("/api/v1/jobs/a").json();
  EXPECT_THAT(job["message"].get<std::string>(), HasSubstr("ended with exit code 7"));
  ASSERT_EQ(job["failures"].size(), 1u);
  EXPECT_EQ(job["failures"][0]["exit_code"], 7);
  EXPECT_EQ(job["failures"][0]["last_lines"], "no file\n");
  EXPECT_EQ(job["failures"][0]["node"], "n0");
}

TEST_F(JobsTest, ATrialChangesNothing) {
  const Answer answer = post("/api/v1/jobs?dry_run=1", "a\nimage\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["jobs"][0]["name"], "default.a");
  EXPECT_EQ(submitted(), 0u);
}

TEST_F(JobsTest, ATrialTellsAlsoWhatTheCoreWouldRefuse) {
  const Answer answer = post("/api/v1/jobs?dry_run=1", "good\na 0\nb 0\n");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.json()["error"]["details"].size(), 2u) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("min_replicas"));
  EXPECT_EQ(submitted(), 0u);
}

TEST_F(JobsTest, WhatSpeaksOfNodesIsReadWithThoseOfTheCluster) {
  const Answer answer = post("/api/v1/jobs?dry_run=1", "on-nodes\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["warnings"], Json::parse(R"(["4 nodes are known"])"));
}

TEST_F(JobsTest, ADeletedJobIsNotShownAnyMore) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  control.end_worker(id, 0, 0);
  ASSERT_THAT(names(""), ElementsAre("default.a"));
  EXPECT_EQ(request(address(), "DELETE", "/api/v1/jobs/a").status, 200);
  EXPECT_THAT(names(""), ElementsAre());
  EXPECT_THAT(names("?all=1"), ElementsAre());
  EXPECT_EQ(get("/api/v1/jobs/a").status, 404);
  EXPECT_EQ(request(address(), "DELETE", "/api/v1/jobs/a").status, 404);
}

TEST_F(JobsTest, WhoDeletesWhatSomebodyElseHasJustDeletedIsToldThatThereIsNoSuchJob) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  control.end_worker(id, 0, 0);
  control.deleted_before_next_request(id);
  const Answer answer = request(address(), "DELETE", "/api/v1/jobs/a");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(message(answer), HasSubstr("there is no job default.a"));
}

TEST_F(JobsTest, OfANameTheNewestJobIsShownAndItsHistoryOnRequest) {
  const JobId first = control.running(JobBuilder("a").spec(), 1);
  control.end_worker(first, 0, 0);
  const JobId second = control.running(JobBuilder("a").replicas(2).spec(), 2);
  const Json list = get("/api/v1/jobs").json();
  ASSERT_EQ(list["jobs"].size(), 1u);
  EXPECT_EQ(list["jobs"][0]["id"], second.value);
  EXPECT_EQ(list["jobs"][0]["phase"], "Running");
  const Json all = get("/api/v1/jobs?all=1").json();
  ASSERT_EQ(all["jobs"].size(), 2u);
  EXPECT_EQ(all["jobs"][0]["id"], first.value);
  EXPECT_EQ(all["jobs"][0]["phase"], "Succeeded");
  EXPECT_EQ(request(address(), "DELETE", "/api/v1/jobs/a").status, 200);
  EXPECT_THAT(names("?all=1"), testing::Not(testing::Contains("Succeeded")));
  EXPECT_EQ(post("/api/v1/jobs", "a").status, 200) << "the name is free";
}

TEST_F(JobsTest, ApplyBringsJobsToWhatTheTextSays) {
  const JobId same = control.running(JobBuilder("same").spec(), 1);
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  EXPECT_EQ(post("/api/v1/jobs/a/scale", R"({"replicas":4})").status, 200);
  const Answer trial = post("/api/v1/jobs?apply=1&dry_run=1", "new\nsame\na 2\n");
  EXPECT_EQ(trial.status, 200) << trial.body;
  EXPECT_EQ(target(id), 4);
  EXPECT_EQ(submitted(), 2u);
  const Answer answer = post("/api/v1/jobs?apply=1", "new\nsame\na 2\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["jobs"], trial.json()["jobs"]);
  EXPECT_EQ(answer.json()["jobs"], Json::parse(R"([
      {"name":"default.new","result":"submitted","detail":""},
      {"name":"default.same","result":"unchanged","detail":"Running"},
      {"name":"default.a","result":"changed",
       "detail":"roles.worker.replicas from 4 to 2"}])"));
  EXPECT_EQ(target(id), 2) << "back to the older file";
  EXPECT_EQ(target(same), 1);
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a 2").json()["jobs"][0]["result"], "unchanged");
}

// Each apply undid the number that was set, and said "changed" for ever.
TEST_F(JobsTest, ApplyOfTheSameRangeLeavesTheNumberThatWasSetInsideIt) {
  const JobId id = control.running(JobBuilder("a").replicas(1, 8).spec(), 1);
  EXPECT_EQ(post("/api/v1/jobs/a/scale", R"({"replicas":4})").status, 200);
  for (const std::string dry : {"&dry_run=1", ""}) {
    const Answer answer = post("/api/v1/jobs?apply=1" + dry, "a 1 8\n");
    EXPECT_EQ(answer.json()["jobs"][0]["result"], "unchanged") << answer.body;
    EXPECT_EQ(target(id), 4);
  }
  const Json other = Json::parse(
      R"([{"name":"default.a","result":"changed",
           "detail":"roles.worker.replicas from 1 to 8 to 1 to 3"}])");
  EXPECT_EQ(post("/api/v1/jobs?apply=1&dry_run=1", "a 1 3\n").json()["jobs"], other);
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a 1 3\n").json()["jobs"], other);
  EXPECT_EQ(target(id), 3) << "as many as are allowed";
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a 1 3\n").json()["jobs"][0]["result"], "unchanged");
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a 2\n").json()["jobs"][0]["result"], "changed");
  EXPECT_EQ(target(id), 2);
}

TEST_F(JobsTest, ATrialOfApplySaysWhatWouldBeRefused) {
  control.running(JobBuilder("a").spec(), 1);
  const Answer trial = post("/api/v1/jobs?apply=1&dry_run=1", "a 0\n");
  EXPECT_EQ(trial.status, 409);
  EXPECT_EQ(trial.json()["jobs"][0]["result"], "refused");
  EXPECT_THAT(trial.json()["jobs"][0]["detail"].get<std::string>(),
              testing::Not(testing::StartsWith("default.a: ")));
  EXPECT_THAT(message(trial), testing::StartsWith("default.a: "));
  EXPECT_THAT(message(trial), testing::Not(HasSubstr("default.a: default.a"))) << "named twice";
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a 0\n").body, trial.body);
}

TEST_F(JobsTest, ApplyLeavesWhatCannotChangeAndSaysWhy) {
  JobSpec other = JobBuilder("a").spec();
  other.roles[0].environment = {{"A", "b"}};
  control.running(other, 1);
  const JobId over = control.running(JobBuilder("over").spec(), 1);
  control.end_worker(over, 0, 0);
  const Answer answer = post("/api/v1/jobs?apply=1", "a\nover\nover-2 0\nnew\n");
  EXPECT_EQ(answer.status, 409);
  const Json jobs = answer.json()["jobs"];
  EXPECT_EQ(jobs[0]["result"], "differs");
  EXPECT_THAT(std::string(jobs[0]["detail"]), HasSubstr("roles.worker.env"));
  EXPECT_EQ(jobs[1]["result"], "unchanged") << "it has run as the text says";
  EXPECT_EQ(jobs[2]["result"], "refused");
  EXPECT_EQ(jobs[3]["result"], "submitted") << "one does not hold up the others";
  EXPECT_EQ(answer.json()["error"]["details"].size(), 2u);
  const Json ended = post("/api/v1/jobs?apply=1", "over 2\n").json();
  EXPECT_THAT(std::string(ended["jobs"][0]["detail"]), HasSubstr("has ended (Succeeded)"));
}

TEST_F(JobsTest, OnlyJobsThatAreNamedAreTaken) {
  EXPECT_EQ(post("/api/v1/jobs?only=b&only=default.c", "a\nb\nc\n").status, 200);
  EXPECT_THAT(names(""), ElementsAre("default.b", "default.c"));
  EXPECT_EQ(post("/api/v1/jobs?only=x", "a").status, 400);
}

TEST_F(JobsTest, AListIsFiltered) {
  JobSpec other = JobBuilder("b").group("g").spec();
  other.name = "team.b";
  other.labels = {{"tier", "gold"}};
  control.running(JobBuilder("a").spec(), 1);
  control.step(JobSubmitted{0, std::make_shared<const JobSpec>(other)});
  EXPECT_THAT(names(""), ElementsAre("default.a", "team.b"));
  EXPECT_THAT(names("?namespace=team"), ElementsAre("team.b"));
  EXPECT_THAT(names("?group=g"), ElementsAre("team.b"));
  EXPECT_THAT(names("?phase=Running"), ElementsAre("default.a"));
  EXPECT_THAT(names("?label=tier%3Dgold"), ElementsAre("team.b"));
  EXPECT_THAT(names("?label=tier=silver"), ElementsAre());
  EXPECT_THAT(message(get("/api/v1/jobs?phase=Happy")), HasSubstr("Pending"));
}

TEST_F(JobsTest, ALongListComesInPages) {
  ASSERT_EQ(post("/api/v1/jobs", "a\nb\nc\n").status, 200);
  const Json first = get("/api/v1/jobs?limit=2").json();
  EXPECT_EQ(first["jobs"].size(), 2u);
  const std::string after = std::to_string(first["next"].get<int>());
  EXPECT_THAT(names("?limit=2&after=" + after), ElementsAre("default.c"));
  EXPECT_TRUE(get("/api/v1/jobs?limit=3").json()["next"].is_null());
}

TEST_F(JobsTest, AJobShowsStatusMembersSpecificationAndEvents) {
  control.running(JobBuilder("a").replicas(2).spec(), 2);
  const Json job = get("/api/v1/jobs/a").json();
  EXPECT_EQ(job["name"], "default.a");
  EXPECT_EQ(job["phase"], "Running");
  EXPECT_EQ(job["ready_replicas"], 2);
  EXPECT_EQ(job["members"].size(), 2u);
  EXPECT_EQ(job["members"][1]["node"], "n0");
  EXPECT_EQ(job["members"][1]["address"], "10.0.0.1");
  EXPECT_EQ(job["members"][1]["state"], "Ready");
  EXPECT_EQ(job["members"][1]["devices"], Json::parse("[1]"));
  EXPECT_EQ(job["spec"]["roles"][0]["name"], "worker");
  EXPECT_FALSE(job["events"].empty());
  EXPECT_EQ(get("/api/v1/jobs/nobody").status, 404);
}

TEST_F(JobsTest, ScalingSetsAddsRemovesAndClears) {
  const JobId id = control.running(JobBuilder("a").replicas(2).spec(), 2);
  const auto scale = [&](const char* body) { return post("/api/v1/jobs/a/scale", body).status; };
  EXPECT_EQ(scale(R"({"replicas":3})"), 200);
  EXPECT_EQ(target(id), 3);
  EXPECT_EQ(scale(R"({"role":"worker","add":2})"), 200);
  EXPECT_EQ(target(id), 5);
  EXPECT_EQ(scale(R"({"remove":4})"), 200);
  EXPECT_EQ(target(id), 1);
  EXPECT_EQ(scale(R"({"clear":true})"), 200);
  EXPECT_EQ(target(id), 2);
}

// The last of two values counted.
TEST_F(JobsTest, AKeyThatStandsTwiceIsRefusedByItsName) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  const Answer answer =
      post("/api/v1/jobs/a/scale", R"({"replicas":2,"role":"worker","replicas":3})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(message(answer), HasSubstr(R"("replicas" stands there twice)"));
  EXPECT_EQ(target(id), 1);
  EXPECT_EQ(post("/api/v1/jobs/a/scale", R"({"replicas":2,"role":"worker"})").status, 200);
}

TEST_F(JobsTest, ScalingSaysWhatIsWrong) {
  control.running(JobBuilder("a").spec(), 1);
  const auto scale = [&](const char* body) { return post("/api/v1/jobs/a/scale", body); };
  EXPECT_THAT(message(scale(R"({"replicas":"2"})")), HasSubstr(R"(found "2", a whole number)"));
  for (const char* body : {"",
                           "{}",
                           "[]",
                           "{",
                           "null",
                           R"({"replicas":0})",
                           R"({"replicas":"2"})",
                           R"({"replicas":1.5})",
                           R"({"add":1,"remove":1})",
                           R"({"replicas":1e99})",
                           R"({"replicas":2,"size":3})",
                           R"({"role":7,"replicas":2})",
                           R"({"clear":1})",
                           R"({"role":"cook","replicas":2})",
                           R"({"remove":1})"})
    EXPECT_EQ(scale(body).status, 400) << body << scale(body).body;
  EXPECT_THAT(message(scale(R"({"role":"cook","replicas":2})")), HasSubstr("worker"));
  EXPECT_THAT(message(scale(R"({"remove":1})")), HasSubstr("1 to 1000000"));
  EXPECT_EQ(post("/api/v1/jobs/b/scale", R"({"replicas":2})").status, 404);
}

TEST_F(JobsTest, ABodyNestedWithoutEndIsRefused) {
  control.running(JobBuilder("a").spec(), 1);
  const std::string deep(1'000'000, '[');
  for (const std::string& body :
       {deep, R"({"replicas":)" + deep, R"({"a\"b":)" + deep + std::string(deep.size(), ']') + "}"})
    EXPECT_THAT(message(post("/api/v1/jobs/a/scale", body)), HasSubstr("32 levels"));
  const Answer quoted = post("/api/v1/jobs/a/scale", R"({"role":")" + deep + R"(","replicas":1})");
  EXPECT_THAT(message(quoted), HasSubstr("has no role"));
}

TEST_F(JobsTest, StoppingAndDeletingTakeEffect) {
  const JobId id = control.running(JobBuilder("a").spec(), 1);
  EXPECT_EQ(post("/api/v1/jobs/a/stop").status, 200);
  EXPECT_EQ(control.with([&](const State& state) { return state.find(id)->row.phase; }),
            JobPhase::Failed);
  EXPECT_EQ(post("/api/v1/jobs/a/stop").status, 409);
  EXPECT_EQ(post("/api/v1/jobs/a/scale", R"({"replicas":2})").status, 409);
  EXPECT_EQ(request(address(), "DELETE", "/api/v1/jobs/a").status, 200);
  EXPECT_EQ(request(address(), "DELETE", "/api/v1/jobs/nobody").status, 404);
}

TEST_F(JobsTest, AStandbyControllerSendsItsClientsOn) {
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::Following;
    facts.leader_url = "http://127.0.0.1:9";
  });
  const Answer answer = get("/api/v1/jobs?limit=3");
  EXPECT_EQ(answer.status, 307);
  EXPECT_EQ(answer.header("Location"), "http://127.0.0.1:9/api/v1/jobs?limit=3");
  EXPECT_EQ(answer.json()["error"]["leader"], "http://127.0.0.1:9");
  control.set_facts([](auto& facts) { facts.leader_url.clear(); });
  EXPECT_EQ(get("/api/v1/jobs").status, 503);
}

TEST_F(JobsTest, WhereTheJournalFailsMidwayThoseThatAreInAreNamed) {
  control.fails_after(1);
  const Answer answer = post("/api/v1/jobs", "first\nsecond\nthird\n");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.json()["jobs"], Json::parse(R"([{"name":"default.first","id":0}])"));
  EXPECT_EQ(message(answer), "it is not known whether it was written");
}

TEST_F(JobsTest, NothingIsPromisedOfAJobThatIsNotDurable) {
  ASSERT_EQ(post("/api/v1/jobs?apply=1", "a\n").json()["jobs"][0]["result"], "submitted");
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a\n").json()["jobs"][0]["result"], "unchanged");
  control.lose_what_is_decided();
  const Answer answer = post("/api/v1/jobs?apply=1", "a\n");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_THAT(message(answer), HasSubstr("it is lost"));
  EXPECT_EQ(post("/api/v1/jobs?apply=1&dry_run=1", "a\n").json()["jobs"][0]["result"], "unchanged");
  EXPECT_EQ(post("/api/v1/jobs", "a\n").status, 503) << "not: a live job has this name";
  EXPECT_EQ(post("/api/v1/jobs?dry_run=1", "a\n").status, 409);
}

TEST_F(JobsTest, WithAFailedStoreJobsAreReadAndNothingIsTaken) {
  control.running(JobBuilder("a").spec(), 1);
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::StoreFailed;
    facts.why = "the disk is full";
  });
  EXPECT_EQ(get("/api/v1/jobs/a").status, 200);
  const Answer answer = post("/api/v1/jobs", "b");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(message(answer), HasSubstr("the disk is full"));
  EXPECT_EQ(answer.header("Retry-After"), "1");
  // What the state holds may be lost with the process, and is no answer to who asks for a change.
  EXPECT_EQ(post("/api/v1/jobs", "a").status, 503) << "not: a live job has this name";
  EXPECT_EQ(post("/api/v1/jobs?apply=1", "a").status, 503) << "not: unchanged";
  EXPECT_EQ(post("/api/v1/jobs?dry_run=1", "a").status, 503);
  EXPECT_EQ(request(address(), "DELETE", "/api/v1/jobs/gone").status, 503)
      << "not: there is no such job";
  EXPECT_EQ(post("/api/v1/jobs/gone/stop").status, 503);
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_THAT(get("/readyz").body, HasSubstr("the disk is full"));
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(JobsTest, UnknownParametersAreRefusedEverywhere) {
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/api/v1/openapi.yaml"}) {
    EXPECT_EQ(get(path).status, 200) << path;
    const Answer answer = get(std::string(path) + "?verbose=1");
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_THAT(message(answer), HasSubstr("verbose")) << path;
  }
}

TEST_F(JobsTest, ReadinessIsOpenAdmission) { EXPECT_EQ(get("/readyz").status, 200); }

}  // namespace jobs_tests
}  // namespace orrery::tests
