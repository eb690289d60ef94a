// The server: connections, bounds, deadlines, streams.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>
#include <vector>

#include "runtime/http/text_reader.hpp"
#include "tests/runtime/http/deaf_control.hpp"
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;

class ServerTest : public HttpTest {};

TEST_F(ServerTest, AnswersOnAPortOfItsOwn) {
  serve();
  EXPECT_THAT(front->url(), testing::StartsWith("http://127.0.0.1:"));
  const Answer answer = get("/healthz");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok\n");
}

TEST_F(ServerTest, AnswersOnAUnixSocketThatOnlyItsOwnerReaches) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("http-" + std::to_string(::getpid()))).string();
  options.address = "unix:" + path;
  serve();
  EXPECT_EQ(get("/healthz").status, 200);

  struct stat about {};

  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  const auto second = http::serve_http(control, options);
  ASSERT_FALSE(second.has_value()) << "the socket is taken";
  EXPECT_THAT(second.errors().front().text(), HasSubstr("listens"));
  front.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ServerTest, AddressesThatCannotBeAreRefused) {
  for (const char* address :
       {"0.0.0.0:0", "192.0.2.1:80", "nowhere", "127.0.0.1:99999", "[::]:0"}) {
    options.address = address;
    const auto served = http::serve_http(control, options);
    EXPECT_FALSE(served.has_value()) << address;
  }
  options.address = "0.0.0.0:0";
  EXPECT_THAT(http::serve_http(control, options).errors().front().text(), HasSubstr("tls"));
}

TEST_F(ServerTest, APortThatIsTakenIsNamed) {
  serve();
  options.address = address();
  const auto second = http::serve_http(control, options);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.errors().front().text(), HasSubstr(address()));
}

TEST_F(ServerTest, OneConnectionServesManyRequests) {
  serve();
  HttpClient client(address());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.request("GET", "/healthz").status, 200);
}

TEST_F(ServerTest, RequestsSentAheadAreAnsweredInOrder) {
  serve();
  HttpClient client(address());
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += "GET /" + std::string(i % 2 == 0 ? "healthz" : "nothing") +
           " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  client.send(all);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.receive().status, i % 2 == 0 ? 200 : 404) << i;
}

TEST_F(ServerTest, HeadHasTheHeaderOfGetAndNoBody) {
  serve();
  HttpClient client(address());
  const Answer head = client.request("HEAD", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "3");
  EXPECT_EQ(client.request("GET", "/healthz").body, "ok\n") << "nothing was left on the line";
}

TEST_F(ServerTest, AnOldClientIsAnsweredAndLeft) {
  serve();
  HttpClient client(address());
  client.send("GET /healthz HTTP/1.0\r\n\r\n");
  const Answer answer = client.receive();
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(ServerTest, AHalfClosedConnectionStillGetsItsAnswer) {
  serve();
  HttpClient client(address());
  client.send("GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.end_sending();
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(ServerTest, AClientIsToldToGoOn) {
  serve();
  HttpClient client(address());
  client.send(
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "1\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("a");
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(ServerTest, UnknownPathsAndMethodsSayWhatThereIs) {
  serve();
  EXPECT_EQ(get("/nothing").status, 404);
  const Answer answer = request(address(), "BREW", "/api/v1/jobs/x");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.header("Allow"), "GET, HEAD, DELETE");
  EXPECT_THAT(message(answer), HasSubstr("BREW"));
}

TEST_F(ServerTest, BadEscapesAndUnknownParametersAreRefused) {
  serve();
  EXPECT_EQ(get("/api/v1/jobs/%zz").status, 400);
  EXPECT_EQ(get("/api/v1/jobs?limit=%").status, 400);
  EXPECT_THAT(message(get("/api/v1/jobs?colour=red")), HasSubstr("namespace"));
}

TEST_F(ServerTest, AForeignHostIsRefused) {
  serve();
  HttpClient client(address());
  client.send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client.receive().status, 403);
}

// --- bounds ---

TEST_F(ServerTest, ATooLargeHeaderIsRefusedInWords) {
  serve();
  HttpClient client(address());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 431);
  EXPECT_THAT(message(answer), HasSubstr("16384"));
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(ServerTest, ATooLargeBodyIsRefusedInWords) {
  serve();
  HttpClient client(address());
  client.send("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(message(answer), HasSubstr("4194304"));
}

TEST_F(ServerTest, EndlessBytesWithoutALineAreCutOff) {
  serve();
  HttpClient client(address());
  const std::string piece(1 << 20, 'x');
  int sent = 0;
  while (sent < 200 && client.send(piece)) ++sent;
  EXPECT_LT(sent, 200) << "MiB were taken";
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(ServerTest, ASlowHeaderIsCutOffByItsDeadline) {
  options.limits.header = Duration::milliseconds(50);
  serve();
  HttpClient client(address());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ");
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 408);
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(ServerTest, BytesThatTrickleDoNotMoveTheDeadline) {
  options.limits.header = Duration::milliseconds(200);
  options.limits.request.header_bytes_max = 256 << 20;  // It is not the size that ends it.
  serve();
  HttpClient client(address());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ");
  // Bytes go on coming until the server has had enough.
  while (client.send("x")) std::this_thread::yield();
  EXPECT_EQ(front->figures().cut_off, 1u);
}

TEST_F(ServerTest, ASlowBodyIsCutOffByItsDeadline) {
  options.limits.body = Duration::milliseconds(50);
  serve();
  HttpClient client(address());
  client.send("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab");
  EXPECT_EQ(client.receive().status, 408);
}

TEST_F(ServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  options.limits.idle = Duration::milliseconds(50);
  serve();
  HttpClient client(address());
  EXPECT_EQ(client.request("GET", "/healthz").status, 200);
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(ServerTest, MoreConnectionsThanAllowedAreTurnedAway) {
  options.limits.connections_max = 3;
  serve();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(address());
    clients.back().send("GET /api/v1/events?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(clients.back().receive_head().status, 200);
  }
  HttpClient fourth(address());
  const Answer answer = fourth.receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(message(answer), "too many connections at once; ask again later");
  clients.pop_back();
  // Its end is seen some time.
  while (request(address(), "GET", "/healthz").status != 200) std::this_thread::yield();
}

// --- streams ---

TEST_F(ServerTest, IdleStreamsDoNotKeepRequestsWaiting) {
  serve();
  std::vector<HttpClient> streams;
  for (int i = 0; i < 200; ++i) {
    streams.emplace_back(address());
    streams.back().send(
        "GET /api/v1/events?follow=1&backlog=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_EQ(streams.back().receive_head().status, 200);
  }
  for (int i = 0; i < 100; ++i) ASSERT_EQ(get("/api/v1/jobs").status, 200);
  control.running(JobBuilder("late").spec(), 1);
  for (HttpClient& stream : streams) stream.receive_until("default.late");
}

TEST_F(ServerTest, AClientThatDoesNotReadIsCutOff) {
  options.limits.stream_bytes_max = 1 << 20;
  options.limits.write = Duration::seconds(3600);
  serve();
  HttpClient deaf(address());
  deaf.send("GET /api/v1/events?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_EQ(deaf.receive_head().status, 200);
  // Events until its queue is full; clients that read are not affected.
  HttpClient reader(address());
  reader.send("GET /api/v1/events?follow=1&backlog=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_EQ(reader.receive_head().status, 200);
  const auto is_cut_off = [&] { return front->figures().cut_off > 0; };
  for (int i = 0; i < 100'000 && !is_cut_off(); ++i) {
    control.step(StopRequested{0, JobId{12345}});
    if (i % 100 == 99) reader.receive_some();
  }
  EXPECT_TRUE(is_cut_off());
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(ServerTest, ALargeAnswerForWhichThereIsNoRoomIsRefused) {
  options.limits.queued_bytes_max = 100 << 10;
  serve();
  for (int i = 0; i < 300; ++i) control.running(JobBuilder("job-" + std::to_string(i)).spec(), 1);
  const Answer all = get("/api/v1/jobs?limit=300");
  EXPECT_EQ(all.status, 503);
  EXPECT_THAT(all.body, HasSubstr("ask again later, or for less"));
  EXPECT_EQ(front->figures().cut_off, 1u);
  const Answer few = get("/api/v1/jobs?limit=30");
  EXPECT_EQ(few.status, 200);
  EXPECT_GT(few.body.size(), 1000u);
}

TEST_F(ServerTest, ManyClientsAtOnce) {
  serve();
  control.running(JobBuilder("a").spec(), 1);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      HttpClient client(address());
      for (int i = 0; i < 100; ++i)
        good +=
            client.request("GET", i % 3 == t % 3 ? "/api/v1/jobs" : "/api/v1/jobs/a").status == 200;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

// --- the end ---

TEST_F(ServerTest, WhatTheControllerForgetsIsAnsweredAllTheSame) {
  DeafControl deaf;
  options.address = "127.0.0.1:0";
  const auto served = http::serve_http(deaf, options);
  ASSERT_TRUE(served.has_value());
  const Answer answer = request((*served)->address(), "GET", "/api/v1/jobs");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(message(answer), HasSubstr("ask again"));
}

TEST_F(ServerTest, StoppingEndsStreamsAsIfTheyWereOver) {
  serve();
  HttpClient stream(address());
  stream.send("GET /api/v1/events?follow=1&backlog=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_EQ(stream.receive_head().status, 200);
  HttpClient idle(address());
  ASSERT_EQ(idle.request("GET", "/healthz").status, 200);
  front->stop();
  stream.receive_until("0\r\n\r\n");
  EXPECT_TRUE(stream.is_closed_by_peer());
  EXPECT_TRUE(idle.is_closed_by_peer());
}

TEST_F(ServerTest, LengthsThatTwoReadersUnderstandInTwoWaysAreRefusedWhole) {
  serve();
  for (const char* lengths : {"Transfer-Encoding: xchunked\r\n",
                              "Transfer-Encoding: gzip, chunked\r\n",
                              "Transfer-Encoding: identity\r\n",
                              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"}) {
    SCOPED_TRACE(lengths);
    HttpClient client(address());
    client.send("POST /healthz HTTP/1.1\r\nHost: localhost\r\n" + std::string(lengths) +
                "\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const int status = client.receive().status;
    EXPECT_TRUE(status == 400 || status == 501) << status;
    EXPECT_TRUE(client.is_closed_by_peer()) << "what follows is no second request";
  }
}

TEST_F(ServerTest, OneHostIsNeeded) {
  serve();
  for (const char* hosts : {"", "Host: localhost\r\nHost: localhost\r\n", "Host: [::1]evil\r\n"}) {
    SCOPED_TRACE(hosts);
    HttpClient client(address());
    client.send("GET /healthz HTTP/1.1\r\n" + std::string(hosts) + "\r\n");
    const int status = client.receive().status;
    EXPECT_TRUE(status == 400 || status == 403) << status;
  }
  HttpClient old(address());
  old.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
}

TEST_F(ServerTest, WhoAsksNothingDoesNotKeepAwayWhoDoes) {
  options.limits.connections_max = 8;
  serve();
  std::vector<HttpClient> idle;
  for (int i = 0; i < 40; ++i) {
    idle.emplace_back(address());
    if (i % 2 == 1) idle.back().send("GET /heal");
  }
  for (int i = 0; i < 20; ++i) ASSERT_EQ(get("/healthz").status, 200);
}

TEST_F(ServerTest, OthersAreServedWhileATextIsRead) {
  std::promise<void> reading;
  std::promise<void> go_on;
  serve([&](const http::JobText& text) {
    reading.set_value();
    go_on.get_future().wait();
    return read_job_lines(text);
  });
  auto slow = std::async(std::launch::async, [&] { return post("/api/v1/jobs", "slow\n"); });
  reading.get_future().wait();
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/api/v1/jobs").status, 200);
  go_on.set_value();
  EXPECT_EQ(slow.get().status, 200);
}

TEST(TextReader, TakesABoundedNumberOfTexts) {
  std::promise<void> reading;
  std::promise<void> go_on;
  std::atomic<int> read{0};
  std::promise<void> last;
  const auto done = [&](const Result<http::ReadJobs>&) {
    if (++read == 1 + static_cast<int>(http::kTextsWaitingMax)) last.set_value();
  };
  http::TextReader reader(
      [&](const http::JobText& text) -> Result<http::ReadJobs> {
        if (text.text == "first") {
          reading.set_value();
          go_on.get_future().wait();
        }
        return http::ReadJobs{};
      },
      std::make_shared<NowExecutor>());
  ASSERT_TRUE(reader.read({"first"}, done));
  reading.get_future().wait();
  for (std::size_t i = 0; i < http::kTextsWaitingMax; ++i) EXPECT_TRUE(reader.read({"more"}, done));
  EXPECT_FALSE(reader.read({"too much"}, done));
  go_on.set_value();
  last.get_future().wait();
  reader.stop();
  EXPECT_FALSE(reader.read({"late"}, done));
}

}  // namespace
}  // namespace orrery::tests
