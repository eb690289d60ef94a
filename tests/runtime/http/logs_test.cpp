// /api/v1/jobs/{job}/logs.
#include <map>
#include <thread>

#include "runtime/http/service.hpp"
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;

class LogsTest : public HttpTest {
 protected:
  LogsTest() {
    serve();
    job_ = control.running(JobBuilder("a").replicas(2).role("actor", 1).spec(), 2);
  }

  HttpClient open(const std::string& query, const std::string& headers = {}) {
    HttpClient client(address());
    const std::size_t before = control.log_queries().size();
    client.send("GET /api/v1/jobs/a/logs?" + query + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
                "\r\n");
    while (control.log_queries().size() == before || control.open_logs() == 0)
      std::this_thread::yield();
    return client;
  }

  JobId job_;
};

TEST_F(LogsTest, ALogComesWhole) {
  HttpClient client = open("rank=1");
  control.tell_log("one\ntwo\n");
  control.tell_log("three", true);
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "one\ntwo\nthree");
  const runtime::LogQuery query = control.log_queries().back();
  EXPECT_EQ(query.job, job_);
  EXPECT_EQ(query.rank, 1);
  EXPECT_TRUE(query.role.is_none());
  EXPECT_FALSE(query.follow);
}

TEST_F(LogsTest, AWorkerIsChosenByRoleToo) {
  HttpClient client = open("role=actor&rank=0&tail_bytes=9");
  control.tell_log("x", true);
  EXPECT_EQ(client.receive().body, "x");
  EXPECT_EQ(control.log_queries().back().role, RoleIndex{1});
  EXPECT_EQ(control.log_queries().back().tail_bytes, 9u);
}

TEST_F(LogsTest, WorkersThatThereAreNotAreNotFound) {
  EXPECT_THAT(message(get("/api/v1/jobs/a/logs?rank=3")), HasSubstr("it has 3"));
  EXPECT_THAT(message(get("/api/v1/jobs/a/logs?role=actor&rank=1")), HasSubstr("it has 1"));
  EXPECT_THAT(message(get("/api/v1/jobs/a/logs?role=cook")), HasSubstr("worker, actor"));
  EXPECT_EQ(get("/api/v1/jobs/b/logs").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/a/logs?rank=-1").status, 400);
}

TEST_F(LogsTest, AJobWithoutWorkersSaysWhatItWaitsFor) {
  ASSERT_EQ(post("/api/v1/jobs", "wide 64").status, 200);
  const Answer answer = get("/api/v1/jobs/wide/logs");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(message(answer),
              HasSubstr("has no worker, so there is no log: it is Pending, needs"));
}

TEST_F(LogsTest, TheStartBeforeIsAskedForToo) {
  HttpClient client = open("rank=1&previous=1");
  control.tell_log("old", true);
  EXPECT_EQ(client.receive().body, "old");
  EXPECT_TRUE(control.log_queries().back().previous);
}

TEST_F(LogsTest, TheLastLinesAreChosen) {
  HttpClient client = open("tail_lines=2");
  control.tell_log("one\ntw");
  control.tell_log("o\nthree\n", true);
  EXPECT_EQ(client.receive().body, "two\nthree\n");
  HttpClient all = open("tail_lines=9");
  control.tell_log("one\n", true);
  EXPECT_EQ(all.receive().body, "one\n");
}

TEST_F(LogsTest, AFollowedLogGoesOnUntilTheWorkerEnds) {
  HttpClient client = open("follow=1&tail_lines=1");
  control.tell_log("old\nlast\n");
  ASSERT_EQ(client.receive_head().status, 200);
  client.receive_until("last\n");
  control.tell_log("new\n");
  client.receive_until("new\n");
  control.tell_log("", true);
  EXPECT_THAT(client.receive_until("0\r\n\r\n"), testing::Not(HasSubstr("old")));
}

TEST_F(LogsTest, AQuietLogThatIsFollowedAnswersAllTheSame) {
  HttpClient client = open("follow=1");
  EXPECT_EQ(client.receive_head().status, 200);
}

TEST_F(LogsTest, AsEventsEachLineIsOne) {
  HttpClient client = open("follow=1", "Accept: text/event-stream\r\n");
  control.tell_log("one\r\ntw");
  control.tell_log("o\nrest");
  control.tell_log("", true);
  const Answer answer = client.receive();
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.body,
            "event: log\ndata: one\n\nevent: log\ndata: two\n\nevent: log\ndata: rest\n\n"
            "event: end\ndata: \n\n");
}

// Whoever counted lines instead left out others once the log had been rotated.
TEST_F(LogsTest, EventsSayWhereInTheLogTheyEnd) {
  HttpClient client = open("follow=1", "Accept: text/event-stream\r\n");
  control.tell_log({.data = "one\r\ntw", .begin = {Incarnation{3}, 100}});
  control.tell_log({.data = "o\nha", .begin = {Incarnation{3}, 107}});
  control.tell_log({.last = true, .error = "gone", .begin = {Incarnation{3}, 111}});
  EXPECT_EQ(client.receive().body,
            "id: 3.105\nevent: log\ndata: one\n\nid: 3.109\nevent: log\ndata: two\n\n"
            "id: 3.109\nevent: log\ndata: ha\n\nevent: error\ndata: gone\n\n")
      << "the line that broke off comes again behind the one before it";
}

TEST_F(LogsTest, ALogGoesOnBehindAnEvent) {
  HttpClient client = open("follow=1&since=3.105", "Accept: text/event-stream\r\n");
  EXPECT_EQ(control.log_queries().back().since, (runtime::LogPosition{Incarnation{3}, 105}));
  control.tell_log({.data = "two\n", .begin = {Incarnation{3}, 105}});
  control.tell_log({.last = true, .begin = {Incarnation{3}, 109}});
  EXPECT_EQ(client.receive().body, "id: 3.109\nevent: log\ndata: two\n\nevent: end\ndata: \n\n");
  EXPECT_EQ(get("/api/v1/jobs/a/logs?since=3").status, 400);
  EXPECT_EQ(get("/api/v1/jobs/a/logs?since=3.-1").status, 400);
}

TEST_F(LogsTest, WhatIsKeptNoLongerIsTold) {
  HttpClient client = open("follow=1&since=3.105", "Accept: text/event-stream\r\n");
  control.tell_log({.data = "x\n", .last = true, .begin = {Incarnation{3}, 205}});
  EXPECT_THAT(client.receive().body, HasSubstr("id: 3.205\nevent: lost\ndata: 100\n\nid: 3.207\n"));
  HttpClient other = open("follow=1&since=2.105", "Accept: text/event-stream\r\n");
  control.tell_log({.data = "x\n", .last = true, .begin = {Incarnation{3}, 205}});
  EXPECT_THAT(other.receive().body, testing::Not(HasSubstr("lost"))) << "it is of another start";
}

TEST_F(LogsTest, ALogThatThereIsNotIsNotFound) {
  HttpClient client = open("rank=0");
  control.tell_log("", true, "the node keeps it no longer");
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(message(answer), HasSubstr("keeps it no longer"));
}

// A client took it for the end of the log.
TEST_F(LogsTest, ALogThatCannotBeHadForAMomentIsUnavailable) {
  HttpClient client = open("rank=0&follow=1", "Accept: text/event-stream\r\n");
  control.tell_log({.last = true, .error = "the node's agent is out of reach", .passing = true});
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(message(answer), HasSubstr("there is no log: the node's agent is out of reach"));
}

TEST_F(LogsTest, ALogThatBreaksOffIsNoWholeAnswer) {
  HttpClient client = open("rank=0");
  control.tell_log("half of");
  ASSERT_EQ(client.receive_head().status, 200);
  client.receive_until("half of");
  control.tell_log("", true, "the node was lost");
  EXPECT_TRUE(client.is_closed_by_peer());
  HttpClient framed = open("rank=0", "Accept: text/event-stream\r\n");
  control.tell_log("half of");
  control.tell_log("", true, "the node was lost");
  EXPECT_THAT(framed.receive().body, HasSubstr("event: error\ndata: the node was lost\n"));
}

TEST_F(LogsTest, WhoLeavesIsNoLongerToldAnything) {
  {
    HttpClient client = open("follow=1");
    control.tell_log("x\n");
    client.receive_until("x\n");
    EXPECT_EQ(control.open_logs(), 1u);
  }
  while (control.open_logs() > 0) std::this_thread::yield();
  EXPECT_EQ(get("/healthz").status, 200);
}

// --- a stream on which nothing comes ---

/// Runs everything at once, but for timers: those run when they are told to.
class HandTimers final : public http::Executor {
 public:
  void post(std::function<void()> task) override { task(); }

  std::shared_ptr<void> after(Duration delay, std::function<void()> task) override {
    const auto timer = std::make_shared<std::function<void()>>(std::move(task));
    timers_.emplace(delay.ns, timer);
    return timer;
  }

  void run_due(Duration delay) {
    const auto due = timers_.extract(delay.ns);
    ASSERT_FALSE(due.empty()) << "no timer of that time is set";
    if (const auto task = due.mapped().lock()) (*task)();
  }

  bool has(Duration delay) const {
    const auto found = timers_.find(delay.ns);
    return found != timers_.end() && !found->second.expired();
  }

 private:
  std::multimap<std::int64_t, std::weak_ptr<std::function<void()>>> timers_;
};

class Written final : public http::Exchange {
 public:
  void respond(http::Response response) override { text += std::to_string(response.status); }

  void begin(http::Response head) override { text += head.content_type + "|" + head.body; }

  void write(std::string piece) override { text += piece; }

  void finish() override { open = false; }

  void abort() override { open = false; }

  bool is_open() const override { return open; }

  void keep(std::shared_ptr<void> something) override { kept.push_back(std::move(something)); }

  std::string text;
  bool open = true;
  std::vector<std::shared_ptr<void>> kept;
};

// Clients took a worker that was quiet for a minute for a controller that had gone.
TEST(LogKeepAlive, AQuietLogThatIsFollowedSendsComments) {
  FakeControl control(FakeControl::Thread::Caller);
  control.running(JobBuilder("a").spec(), 1);
  const auto timers = std::make_shared<HandTimers>();
  const http::Service service(control, timers, std::make_shared<http::Figures>(), {});
  http::Request request;
  request.method = "GET";
  request.target = "/api/v1/jobs/a/logs?follow=1";
  request.headers = {{"Host", "localhost"}, {"Accept", "text/event-stream"}};
  const auto answer = std::make_shared<Written>();
  service.handle(std::move(request), answer);
  timers->run_due(Duration::seconds(1));
  EXPECT_EQ(answer->text, "text/event-stream|");
  timers->run_due(Duration::seconds(15));
  timers->run_due(Duration::seconds(15));
  control.tell_log("half");
  timers->run_due(Duration::seconds(15));
  control.tell_log(" a line\n", true);
  EXPECT_EQ(answer->text,
            "text/event-stream|:\n\n:\n\n:\n\nevent: log\ndata: half a line\n\n"
            "event: end\ndata: \n\n");
  EXPECT_FALSE(timers->has(Duration::seconds(15)));
  answer->kept.clear();  // As a connection does that ends: what it keeps refers to `control`.
}

}  // namespace
}  // namespace orrery::tests
