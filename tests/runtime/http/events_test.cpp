// /api/v1/events.
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace events_tests {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class EventsTest : public HttpTest {
 protected:
  EventsTest() { serve(); }

  HttpClient follow(const std::string& query, const std::string& headers = {}) {
    HttpClient client(address());
    client.send("GET /api/v1/events?" + query + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
                "\r\n");
    const Answer head = client.receive_head();
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("Content-Type"), "text/event-stream");
    return client;
  }

  void run(const char* name) { control.running(JobBuilder(name).spec(), 1); }
};

TEST_F(EventsTest, TheLatestAreListed) {
  run("a");
  run("b");
  const Json all = get("/api/v1/events").json()["events"];
  ASSERT_GE(all.size(), 4u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i]["number"], all[i - 1]["number"]);
  const Json of_b = get("/api/v1/events?job=b&backlog=2").json()["events"];
  ASSERT_EQ(of_b.size(), 2u);
  for (const Json& line : of_b) EXPECT_EQ(line["job"], "default.b");
  EXPECT_EQ(of_b[1]["name"], "JobRunning");
  EXPECT_EQ(of_b[1]["severity"], "Normal");
}

// It once answered with the lines of its own last term, or none.
TEST_F(EventsTest, WhereAnotherLeadsTheCallGoesThere) {
  run("a");
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::Following;
    facts.leader_url = "http://there:1";
  });
  const Answer answer = get("/api/v1/events?job=a");
  EXPECT_EQ(answer.status, 307);
  EXPECT_EQ(answer.header("Location"), "http://there:1/api/v1/events?job=a");
  control.set_facts([](auto& facts) { facts.leader_url.clear(); });
  EXPECT_EQ(get("/api/v1/events?follow=1").status, 503);
}

TEST_F(EventsTest, AFollowerGetsWhatWasAndWhatComes) {
  run("a");
  HttpClient client = follow("follow=1&job=a");
  client.receive_until("JobRunning");
  EXPECT_EQ(post("/api/v1/jobs/a/stop").status, 200);
  run("b");
  const std::string seen = client.receive_until("JobFailed");
  EXPECT_THAT(seen, Not(HasSubstr("default.b")));
}

TEST_F(EventsTest, AskingForAnEventStreamFollows) {
  HttpClient client = follow("backlog=0", "Accept: text/event-stream\r\n");
  run("a");
  client.receive_until("JobRunning");
}

TEST_F(EventsTest, AFollowerThatComesBackMissesNothingAndSeesNothingTwice) {
  run("a");
  std::string seen = follow("follow=1").receive_until("JobRunning");
  const std::size_t at = seen.rfind("id: ", seen.rfind("JobRunning"));
  const std::string id = seen.substr(at + 4, seen.find('\n', at) - at - 4);
  run("b");
  HttpClient again = follow("follow=1", "Last-Event-ID: " + id + "\r\n");
  seen = again.receive_until("default.b");
  EXPECT_THAT(seen, Not(HasSubstr("default.a")));
  const Json listed = get("/api/v1/events?since=" + id).json()["events"];
  EXPECT_EQ(listed[0]["job"], "default.b");
}

TEST_F(EventsTest, AnIdOfAnEarlierControllerMeansEverything) {
  run("a");
  follow("follow=1", "Last-Event-ID: 17.999999\r\n").receive_until("JobRunning");
}

// It held them for ever: what another leader told was lost to them.
TEST_F(EventsTest, OnceAnotherLeadsFollowersAreSentAway) {
  run("a");
  HttpClient client = follow("follow=1&job=a");
  client.receive_until("JobRunning");
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::StoreFailed;
    facts.why = "the disk is full";
  });
  run("b");
  HttpClient other = follow("follow=1&job=b");
  other.receive_until("JobRunning");
  control.set_facts([](auto& facts) { facts.admission = runtime::Admission::Following; });
  for (HttpClient* each : {&client, &other}) each->receive_until("\r\n0\r\n\r\n");
  EXPECT_EQ(get("/api/v1/events?follow=1").status, 503);
}

TEST_F(EventsTest, ThoseThatAreListedHaveTheIdToGoOnAfter) {
  run("a");
  const Json first = get("/api/v1/events").json()["events"];
  const std::string id = first.back()["id"];
  EXPECT_TRUE(id.ends_with("." + first.back()["number"].dump())) << id;
  EXPECT_EQ(get("/api/v1/events?since=" + id).json()["events"], Json::array());
  run("b");
  EXPECT_EQ(get("/api/v1/events?since=" + id).json()["events"][0]["job"], "default.b");
}

// A number alone is of this life of the controller, unless it has not come so far.
TEST_F(EventsTest, ANumberThatWasNotGivenYetIsOfAnEarlierController) {
  run("a");
  const Json all = get("/api/v1/events").json()["events"];
  const std::uint64_t last = all.back()["number"];
  EXPECT_EQ(get("/api/v1/events?since=" + std::to_string(last)).json()["events"].size(), 0u);
  EXPECT_EQ(get("/api/v1/events?since=" + std::to_string(last + 1)).json()["events"], all);
}

TEST_F(EventsTest, WhatIsNoIdIsRefused) {
  EXPECT_EQ(get("/api/v1/events?since=x.1").status, 400);
  EXPECT_EQ(get("/api/v1/events?backlog=-3").status, 400);
  EXPECT_EQ(get("/api/v1/events?follow=maybe").status, 400);
}

}  // namespace events_tests
}  // namespace orrery::tests
