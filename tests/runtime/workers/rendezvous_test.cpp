// The meeting place: its members, what strangers can do, and how waiting ends.
#include "runtime/workers/rendezvous.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/runtime/workers/child.hpp"

namespace orrery::worker {
namespace {

Limits patient(const Cancel& cancel) { return {Deadline::in(Milliseconds(kPatience_ms)), cancel}; }

class RendezvousTest : public testing::Test {
 protected:
  RendezvousTest() {
    auto server = RendezvousServer::start({"default.a", 3, {"127.0.0.1", 0}});
    server_ = std::move(server).value();
    meeting_ = {"default.a", 3, server_->place()};
  }

  std::unique_ptr<Rendezvous> joined() {
    std::unique_ptr<Rendezvous> out;
    const Outcome outcome = Rendezvous::join(meeting_, patient(cancel_), out);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    return out;
  }

  Cancel cancel_;
  std::unique_ptr<RendezvousServer> server_;
  Meeting meeting_;
};

TEST_F(RendezvousTest, AValueReachesTheRanksThatWaitForIt) {
  const auto first = joined();
  const auto second = joined();
  std::string heard;
  std::thread waiting([&] { EXPECT_TRUE(first->get("a", heard).ok()); });
  const std::string value(64 * 1024, 'v');
  EXPECT_TRUE(second->set("a", value).ok());
  waiting.join();
  EXPECT_EQ(heard, value);
  EXPECT_TRUE(second->get("a", heard).ok());
  EXPECT_EQ(heard, value);
  EXPECT_EQ(first->own_address(), "127.0.0.1");
}

TEST_F(RendezvousTest, AnotherGenerationIsRefusedByName) {
  Meeting other = meeting_;
  other.generation = 4;
  std::unique_ptr<Rendezvous> out;
  const Limits soon{Deadline::in(Milliseconds(300)), cancel_};
  const Outcome refused = Rendezvous::join(other, soon, out);
  EXPECT_EQ(refused.kind, OutcomeKind::TimedOut);
  EXPECT_NE(refused.reason.find("here meets generation 3 of job default.a"), std::string::npos)
      << refused.reason;
}

TEST_F(RendezvousTest, WaitingEndsWhenCancelled) {
  const auto visitor = joined();
  std::thread canceller([this] { cancel_.set(); });
  std::string heard;
  EXPECT_EQ(visitor->get("never", heard).kind, OutcomeKind::Cancelled);
  canceller.join();
}

TEST_F(RendezvousTest, WaitingEndsWhenRank0Goes) {
  const auto visitor = joined();
  server_.reset();
  std::string heard;
  EXPECT_EQ(visitor->get("never", heard).kind, OutcomeKind::PeerLost);
}

TEST_F(RendezvousTest, StrangersAreDropped) {
  for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"),
                                  std::string(4, '\0'),
                                  std::string("\x05\0\0\0Ghost", 9)}) {
    Descriptor socket;
    ASSERT_TRUE(connect_to(meeting_.place, patient(cancel_), socket).ok());
    ASSERT_TRUE(send_all(socket, std::as_bytes(std::span(text)), patient(cancel_), "server").ok());
    std::byte answer{};
    EXPECT_EQ(receive_all(socket, std::span(&answer, 1), patient(cancel_), "server").kind,
              OutcomeKind::PeerLost);
  }
  const auto visitor = joined();
  std::string heard;
  EXPECT_TRUE(visitor->set("still", "there").ok());
  EXPECT_TRUE(visitor->get("still", heard).ok());
}

TEST(EndpointTest, TextGoesThereAndBack) {
  for (const std::string text : {"127.0.0.1:1", "[::1]:65535", "10.0.0.1:22270"}) {
    const auto endpoint = endpoint_of(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(endpoint->text(), text);
  }
  for (const std::string text :
       {"", ":1", "host:1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:1x"})
    EXPECT_FALSE(endpoint_of(text)) << text;
}

}  // namespace
}  // namespace orrery::worker
