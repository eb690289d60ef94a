// What a stream may hold, and what becomes of one that holds more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>

#include "tests/runtime/link/listening.hpp"

namespace orrery::runtime {
namespace {

using testing::HasSubstr;

constexpr Duration kOpenTimeout = Duration::seconds(30);

/// Holds up all callers, until it is opened.
class Gate {
 public:
  ~Gate() { open(); }

  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

/// An agent that stops reading at its first message.
class StuckClient final : public LinkClientListener, public Watched {
 public:
  void on_open() override {}

  void on_messages(std::vector<ControllerMessage> /*messages*/) override { gate.pass(); }

  void on_closed(const std::string& reason) override {
    change([&] {
      closed = true;
      why = reason;
    });
  }

  Gate gate;
  bool closed = false;
  std::string why;
};

ControllerMessage large(std::size_t bytes) { return Refusal{.reason = std::string(bytes, 'x')}; }

struct Linked {
  explicit Linked(const LinkLimits& limits) {
    server = std::move(serve_links("127.0.0.1:0", {}, limits, at_server).value());
    dialer = std::move(dial_links({}).value());
  }

  void open() {
    client = dialer->open(server->address(), kOpenTimeout, at_client);
    ASSERT_TRUE(at_client.wait_open()) << at_client.heard.why;
  }

  std::string why_closed() {
    const LinkId link = at_server.last();
    EXPECT_TRUE(at_server.wait([&] { return at_server.heard[link].closed; }));
    return at_server.heard[link].why;
  }

  ServerSide at_server;
  ClientSide at_client;
  std::unique_ptr<LinkServer> server;
  std::unique_ptr<LinkDialer> dialer;
  std::unique_ptr<LinkClient> client;
};

TEST(LinkBounds, AnAgentThatDoesNotReadIsCutOff) {
  constexpr std::size_t kMessage = 64 << 10;
  Linked linked({.outbound_bytes_max = 8 * kMessage});
  StuckClient stuck;
  linked.client = linked.dialer->open(linked.server->address(), kOpenTimeout, stuck);
  ASSERT_TRUE(linked.at_server.wait([&] { return !linked.at_server.heard.empty(); }));
  const LinkId link = linked.at_server.last();
  // What gRPC and the system hold beyond our own queue is bounded too: less than this.
  for (int i = 0; i < 400; ++i) linked.server->send(link, large(kMessage));
  EXPECT_THAT(linked.why_closed(), HasSubstr("the agent reads too slowly"));
  stuck.gate.open();
  ASSERT_TRUE(stuck.wait([&] { return stuck.closed; }));
  linked.client.reset();
}

TEST(LinkBounds, AControllerThatDoesNotReadIsGivenUp) {
  Linked linked({});
  Gate gate;
  linked.at_server.answer([&](LinkId, const std::vector<AgentMessage>&) { gate.pass(); });
  linked.open();
  const AgentMessage message = LogChunk{.data = std::string(256 << 10, 'x')};
  for (int i = 0; i < 200; ++i) linked.client->send(message);
  ASSERT_TRUE(linked.at_client.wait_closed());
  EXPECT_THAT(linked.at_client.heard.why, HasSubstr("reads too slowly"));
  gate.open();
  linked.why_closed();
}

TEST(LinkBounds, AMessageThatIsTooLargeBreaksTheStream) {
  constexpr std::size_t kMost = 100 << 10;
  // A little more is found by us, with a reason; much more is found by gRPC.
  for (const std::size_t size : {kMost + 100, 20 * kMost}) {
    Linked linked({.message_bytes_max = kMost});
    linked.open();
    linked.client->send(LogChunk{.data = std::string(kMost - 100, 'x')});
    const LinkId link = linked.at_server.last();
    ASSERT_TRUE(
        linked.at_server.wait([&] { return !linked.at_server.heard[link].messages.empty(); }));
    linked.client->send(LogChunk{.data = std::string(size, 'x')});
    ASSERT_TRUE(linked.at_client.wait_closed());
    const std::string why = linked.why_closed();
    EXPECT_EQ(linked.at_server.heard[link].messages.size(), 1U);
    if (size < 2 * kMost) {
      EXPECT_THAT(why, HasSubstr("at most 102400 are allowed"));
      EXPECT_THAT(linked.at_client.heard.why, HasSubstr("at most 102400 are allowed"));
    } else {
      EXPECT_THAT(linked.at_client.heard.why, HasSubstr("larger than max"));
    }
  }
}

TEST(LinkBounds, AServerDoesNotSendWhatIsTooLarge) {
  Linked linked({.message_bytes_max = 1000});
  linked.open();
  linked.server->send(linked.at_server.last(), large(2000));
  ASSERT_TRUE(linked.at_client.wait_closed());
  EXPECT_THAT(linked.at_client.heard.why, HasSubstr("at most 1000 are allowed"));
  EXPECT_TRUE(linked.at_client.heard.messages.empty());
  EXPECT_THAT(linked.why_closed(), HasSubstr("at most 1000 are allowed"));
}

TEST(LinkBounds, StreamsBeyondTheLimitAreRefused) {
  Linked linked({.streams_max = 1});
  linked.open();
  ClientSide second;
  // The same connection would queue it; another one is told.
  const auto other = std::move(dial_links({}).value());
  const auto client = other->open(linked.server->address(), kOpenTimeout, second);
  ASSERT_TRUE(second.wait_closed());
  EXPECT_FALSE(second.heard.open);
  EXPECT_THAT(second.heard.why, HasSubstr("has 1 streams already"));
}

TEST(LinkBounds, AStreamWithoutAnAnswerIsGivenUp) {
  Linked linked({.streams_max = 1});
  linked.open();
  ClientSide second;  // HTTP/2 queues it on the same connection: no answer comes.
  const auto client =
      linked.dialer->open(linked.server->address(), Duration::milliseconds(50), second);
  ASSERT_TRUE(second.wait_closed());
  EXPECT_THAT(second.heard.why, HasSubstr("no answer in 0.05"));
}

}  // namespace
}  // namespace orrery::runtime
