// Calls with a name of their own, and attempts after the first.
#include <gtest/gtest.h>

#include <optional>

#include "runtime/sdk/channel.hpp"
#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

class Once : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    cluster->start(SDK_WORKER);
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static Peer peer(const std::string& caller) {
    return cluster->peer(cluster->name_of("trainer", 0), caller);
  }

  static Value call(std::uint64_t id, const char* method, const Value& more = Value::object()) {
    Value out = {{"t", "call"},
                 {"id", id},
                 {"method", method},
                 {"args", Value::array()},
                 {"kwargs", Value::object()},
                 {"deadline_ms", 60'000}};
    out.update(more);
    return out;
  }

  static std::unique_ptr<FakeCluster> cluster;
  Driver driver = cluster->driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
};

std::unique_ptr<FakeCluster> Once::cluster;

TEST_F(Once, TheSameNameRunsOnceAndAnswersTwice) {
  const RemoteWorker named = trainer.with({.once = "this very call"});
  const int first = named.call<int>("add_count", 1);
  EXPECT_EQ(named.call<int>("add_count", 1), first);
  EXPECT_EQ(trainer.call<int>("count"), first);
  EXPECT_EQ(trainer.with({.once = "another"}).call<int>("add_count", 1), first + 1);
}

TEST_F(Once, OfAnotherCallerItIsAnotherCall) {
  const int first = trainer.with({.once = "shared"}).call<int>("add_count", 1);
  Driver other = cluster->driver("other");
  EXPECT_EQ(other.worker("trainer", 0).with({.once = "shared"}).call<int>("add_count", 1),
            first + 1);
}

TEST_F(Once, ACallThatIsUnderWayIsWaitedFor) {
  RawCaller first(peer("driver:raw"), "driver:raw");
  RawCaller second(peer("driver:raw"), "driver:raw");
  first.send(call(1, "hold", {{"once", "under way"}}));
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  second.send(call(1, "hold", {{"once", "under way"}}));
  second.send(call(2, "is_held"));
  EXPECT_EQ(second.receive()->header["id"], 2);
  trainer.call("open");
  EXPECT_EQ(first.receive()->header["value"], true);
  EXPECT_EQ(second.receive()->header["value"], true);
}

TEST_F(Once, TheAnswerOutlivesTheConnectionThatAskedForIt) {
  const int before = trainer.call<int>("count");
  {
    RawCaller raw(peer("driver:raw"), "driver:raw");
    raw.send(call(1, "add_count", {{"args", {5}}, {"once", "lost answer"}}));
    raw.receive();
  }
  RawCaller again(peer("driver:raw"), "driver:raw");
  again.send(call(1, "add_count", {{"args", {5}}, {"once", "lost answer"}, {"attempt", 1}}));
  EXPECT_EQ(again.receive()->header["value"], before + 5);
  EXPECT_EQ(trainer.call<int>("count"), before + 5);
}

// Its items are with another consumer by then.
TEST_F(Once, AGetIsNeverAnsweredFromMemory) {
  Channel channel = Channel::create(trainer, "once", {.capacity = 4});
  channel.put(1);
  const Value get = call(1, "orrery.channel.get", {{"args", {"once"}}, {"once", "that get"}});
  std::optional<RawCaller> first(std::in_place, peer("driver:raw"), "driver:raw");
  first->send(get);
  EXPECT_EQ(first->receive()->header["value"]["items"][0][2], 1);
  first.reset();
  while (channel.state().leased > 0) {
  }
  channel.put(2);
  ChannelBatch other = channel.get();
  EXPECT_EQ(other.items.front().value, 1);
  RawCaller again(peer("driver:raw"), "driver:raw");
  again.send(get);
  EXPECT_EQ(again.receive()->header["value"]["items"][0][2], 2);
}

TEST_F(Once, AnErrorIsAnAnswerToo) {
  const RemoteWorker named = trainer.with({.once = "fails"});
  EXPECT_THROW(named.call("fail", "once"), Remote);
  EXPECT_THROW(named.call("fail", "once"), Remote);
}

TEST_F(Once, OneThatNeverRanRunsWhenItComesAgain) {
  Future<bool> held = trainer.submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  const int before = 0;
  Future<int> queued = trainer.with({.once = "cancelled first"}).submit<int>("add_count", 1);
  queued.cancel();
  EXPECT_THROW(queued.get(), Cancelled);
  trainer.call("open");
  held.get();
  EXPECT_GT(trainer.with({.once = "cancelled first"}).call<int>("add_count", 1), before);
}

TEST_F(Once, AttemptsAfterTheFirstNeedAnIdempotentMethod) {
  RawCaller raw(peer("driver:raw"), "driver:raw");
  raw.send(call(1, "add_count", {{"args", {1}}, {"attempt", 1}}));
  EXPECT_EQ(raw.error_type(), "NotIdempotent");
  raw.send(call(2, "context", {{"attempt", 1}}));
  EXPECT_EQ(raw.receive()->header["value"]["attempt"], 1);
}

TEST_F(Once, TheOldestAnswersAreForgotten) {
  RawCaller raw(peer("driver:raw"), "driver:raw");
  const int before = trainer.call<int>("count");
  for (int i = 0; i <= 1024; ++i) {
    raw.send(call(static_cast<std::uint64_t>(i) + 1,
                  "add_count",
                  {{"args", {1}}, {"once", "name " + std::to_string(i)}}));
    EXPECT_EQ(raw.receive()->header["value"], before + i + 1);
  }
  raw.send(call(1026, "add_count", {{"args", {1}}, {"once", "name 1"}}));
  EXPECT_EQ(raw.receive()->header["value"], before + 2);
  raw.send(call(1027, "add_count", {{"args", {1}}, {"once", "name 0"}}));
  EXPECT_EQ(raw.receive()->header["value"], before + 1026);
}

}  // namespace
}  // namespace orrery::sdk
