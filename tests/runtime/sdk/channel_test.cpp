// Channels: order, limits, leases, and what becomes of items when a side dies.
#include "runtime/sdk/channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

using std::chrono::milliseconds;

struct Channels : ::testing::Test {
  FakeCluster cluster;
  worker::Child& process = cluster.start(SDK_WORKER);
  Driver driver = cluster.driver("test");
  RemoteWorker owner = driver.worker("trainer", 0);
  Channel channel = Channel::create(owner, "samples", {.capacity = 4, .weight_max = 10});

  /// A driver of its own, with its own connection.
  Channel of(Driver& other) { return Channel::open(other.worker("trainer", 0), "samples"); }

  std::vector<int> values(const ChannelBatch& batch) {
    std::vector<int> out;
    for (const ChannelItem& item : batch.items) out.push_back(item.value.get<int>());
    return out;
  }

  /// Waits until so many puts and gets wait.
  void until_waiting(std::uint64_t puts, std::uint64_t gets) {
    for (ChannelState now = channel.state(); now.waiting_puts != puts || now.waiting_gets != gets;)
      now = channel.state();
  }
};

TEST_F(Channels, ItemsComeInTheOrderInWhichTheyWerePut) {
  EXPECT_EQ(channel.put(1), 1U);
  EXPECT_EQ(channel.put_all({{2}, {3}}), 3U);
  EXPECT_EQ(channel.take<int>(), 1);
  ChannelBatch batch = channel.get({.count = 10});
  EXPECT_EQ(values(batch), (std::vector<int>{2, 3}));
  EXPECT_EQ(channel.state().leased, 2U);
  batch.acknowledge();
  EXPECT_EQ(channel.state().leased, 0U);
  EXPECT_EQ(channel.state().put, 3U);
  EXPECT_EQ(channel.state().taken, 3U);
  EXPECT_THROW(batch.acknowledge(), BadArguments);
}

TEST_F(Channels, AGetAcknowledgesTheBatchOfBefore) {
  channel.put_all({{1}, {2}, {3}});
  ChannelBatch batch = channel.next(channel.get());
  EXPECT_EQ(values(batch), (std::vector<int>{2}));
  EXPECT_EQ(channel.state().taken, 1U);
  EXPECT_EQ(channel.state().leased, 1U);
  ChannelBatch last = channel.next(batch, {.count = 4});
  EXPECT_EQ(values(last), (std::vector<int>{3}));
  EXPECT_THROW(channel.next(batch), BadArguments);
  EXPECT_EQ(channel.state().taken, 2U);
  EXPECT_EQ(channel.state().leased, 1U);
  EXPECT_EQ(channel.state().waiting_gets, 0U);
}

TEST_F(Channels, AnAcknowledgementCountsWhateverItsGetAsksFor) {
  channel.put_all({{1}, {2}});
  ChannelBatch batch = channel.get();
  EXPECT_THROW(channel.next(std::move(batch), {.key = "$no key"}), BadArguments);
  EXPECT_EQ(channel.state().taken, 1U);
  EXPECT_EQ(channel.state().leased, 0U);
}

TEST_F(Channels, AnAcknowledgementCountsWhileItsGetWaits) {
  channel.put(1);
  std::thread late([&] { EXPECT_EQ(values(channel.next(channel.get())), (std::vector<int>{2})); });
  until_waiting(0, 1);
  EXPECT_EQ(channel.state().taken, 1U);
  channel.put(2);
  late.join();
}

TEST_F(Channels, PutsUnderWayKeepTheirOrderAndWaitForRoom) {
  std::vector<Future<std::uint64_t>> puts;
  for (int i = 0; i < 10; ++i) puts.push_back(channel.submit_put_all({{i}}));
  until_waiting(6, 0);
  EXPECT_EQ(channel.state().items, 4U);
  EXPECT_FALSE(puts[4].wait_for(milliseconds(0)));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(channel.take<int>(), i);
  for (Future<std::uint64_t>& put : puts) EXPECT_GE(put.get(), 1U);
}

TEST_F(Channels, CreatingItAgainFindsIt) {
  EXPECT_EQ(Channel::create(owner, "samples", {.capacity = 4, .weight_max = 10}).epoch(),
            channel.epoch());
  EXPECT_THROW(Channel::create(owner, "samples", {.capacity = 5}), BadArguments);
  EXPECT_THROW(Channel::create(owner, "", {}), BadArguments);
  EXPECT_THROW(Channel::create(owner, "zero", {.capacity = 0}), BadArguments);
  EXPECT_THROW(Channel::open(owner, "none"), NoSuchChannel);
}

TEST_F(Channels, APutWaitsWhileItIsFull) {
  channel.put_all({{1}, {2}, {3}, {4}});
  std::thread late([&] { EXPECT_EQ(channel.put(5), 4U); });
  until_waiting(1, 0);
  EXPECT_EQ(channel.take<int>(), 1);
  late.join();
  EXPECT_EQ(channel.state().items, 4U);
  EXPECT_THROW(Channel::open(owner.within(milliseconds(30)), "samples").put(6), Timeout);
  EXPECT_EQ(channel.state().waiting_puts, 0U);
  EXPECT_EQ(channel.state().items, 4U) << "all or none";
}

TEST_F(Channels, WeightsAreALimitToo) {
  channel.put(1, "a", 6);
  std::thread late([&] { channel.put(2, "b", 5); });
  until_waiting(1, 0);
  EXPECT_EQ(channel.take<int>(), 1);
  late.join();
  channel.put_all({{3, "a", 1}, {4, "a", 2}});
  EXPECT_EQ(values(channel.get({.weight = 7})), (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(channel.state().weight, 0);
}

TEST_F(Channels, WhatNeverFitsIsFullAtOnce) {
  EXPECT_THROW(channel.put_all({{1}, {2}, {3}, {4}, {5}}), ChannelFull);
  EXPECT_THROW(channel.put(1, std::nullopt, 11), ChannelFull);
  EXPECT_THROW(channel.put(1, std::nullopt, -1), BadArguments);
  EXPECT_EQ(channel.state().items, 0U);
}

TEST_F(Channels, KeysChooseItems) {
  channel.put_all({{1, "a"}, {2, "b"}, {3}, {4, "a"}});
  EXPECT_EQ(channel.state().by_key, Value({{"", 1}, {"a", 2}, {"b", 1}}));
  EXPECT_EQ(channel.take<int>("b"), 2);
  EXPECT_EQ(values(channel.get({.count = 5, .key = "a"})), (std::vector<int>{1, 4}));
  EXPECT_EQ(channel.take<int>(), 3);
}

TEST_F(Channels, AGetWaitsForTheFirstItemOfItsKey) {
  std::thread late([&] { EXPECT_EQ(channel.take<int>("b"), 2); });
  until_waiting(0, 1);
  channel.put(1, "a");
  channel.put(2, "b");
  late.join();
  EXPECT_EQ(channel.state().items, 1U);
  EXPECT_THROW(Channel::open(owner.within(milliseconds(30)), "samples").get({.key = "c"}), Timeout);
  EXPECT_EQ(channel.state().waiting_gets, 0U);
}

TEST_F(Channels, AKeyIsOneThatStateCanTell) {
  for (const std::string& key : {std::string("$a"), std::string(), std::string(257, 'k')}) {
    EXPECT_THROW(channel.put_all({{.value = 1, .key = key}}), BadArguments) << key;
    EXPECT_THROW(channel.get({.key = key}), BadArguments) << key;
  }
  std::string umlauts;
  for (int i = 0; i < 256; ++i) umlauts += "\xc3\xa4";
  channel.put_all({{.value = 1, .key = umlauts}});
  EXPECT_EQ(channel.state().items, 1U);
}

// The longest that is taken comes out again, whatever its text becomes in an answer.
TEST_F(Channels, WhatIsTakenCanBeGivenOut) {
  // A byte is so many on its way.
  for (const auto& [each, size] : {std::pair{'x', 1U}, std::pair{'"', 2U}, std::pair{'\x01', 6U}}) {
    // Too much for a channel, though not for a message.
    const std::size_t too_much = ((std::size_t{1} << 20) - 2048) / size;
    std::size_t longest = 0;
    try {
      channel.put(std::string(too_much, each));
    } catch (const TooLarge& error) {
      const auto beside_it = static_cast<std::size_t>(error.bytes()) - too_much * size;
      longest = (static_cast<std::size_t>(error.limit()) - beside_it) / size;
    }
    EXPECT_GT(longest, 100'000U) << "a text of bytes " << int{each};
    EXPECT_THROW(channel.put(std::string(longest + 1, each)), TooLarge);
    channel.put(std::string(longest, each));
    EXPECT_EQ(channel.take<std::string>().size(), longest);
    EXPECT_EQ(channel.state().items, 0U);
  }
}

TEST_F(Channels, ADeadConsumersItemsGoBackToTheirPlaces) {
  channel.put_all({{1}, {2}, {3}});
  {
    Driver consumer = cluster.driver("consumer");
    Channel there = of(consumer);
    EXPECT_EQ(values(there.get({.count = 2})), (std::vector<int>{1, 2}));
    channel.put(4);
    consumer.close();
  }
  while (channel.state().items != 4) {
  }
  EXPECT_EQ(values(channel.get({.count = 9})), (std::vector<int>{1, 2, 3, 4}));
}

TEST_F(Channels, AGetThatWasGivenUpLosesNothing) {
  Future<> given_up =
      owner.submit_named("orrery.channel.get", {{"name", "samples"}, {"epoch", channel.epoch()}});
  until_waiting(0, 1);
  given_up.cancel();
  channel.put(1);
  EXPECT_THROW(given_up.get(), Cancelled);
  EXPECT_EQ(channel.take<int>(), 1);
}

TEST_F(Channels, AnAnswerThatCrossesItsCancelGivesTheItemsBack) {
  channel.put(1);
  const std::string name = cluster.name_of("trainer", 0);
  RawCaller raw(cluster.peer(name, "driver:raw"), "driver:raw");
  raw.send({{"t", "call"},
            {"id", 1},
            {"method", "orrery.channel.get"},
            {"args", Value::array()},
            {"kwargs", {{"name", "samples"}}},
            {"deadline_ms", 60'000}});
  EXPECT_EQ(raw.receive()->header["value"]["items"][0][2], 1);
  EXPECT_EQ(channel.state().leased, 1U);
  raw.send({{"t", "cancel"}, {"id", 1}});
  EXPECT_EQ(channel.take<int>(), 1);
}

TEST_F(Channels, ADeadProducersItemsStay) {
  {
    Driver producer = cluster.driver("producer");
    of(producer).put(7);
    producer.close();
  }
  EXPECT_EQ(channel.take<int>(), 7);
}

TEST_F(Channels, APutWhoseAnswerWasLostIsTakenOnce) {
  const Value put = {{"name", "samples"}, {"items", {{nullptr, 1, 5}}}, {"epoch", channel.epoch()}};
  const RemoteWorker once = owner.with({.once = "put 2"});
  EXPECT_EQ(once.call_named("orrery.channel.put", put), 1);
  EXPECT_EQ(once.call_named("orrery.channel.put", put), 1);
  EXPECT_EQ(channel.state().items, 1U);
}

TEST_F(Channels, AClosedOneIsEmptiedFirst) {
  channel.put_all({{1}, {2}});
  channel.close();
  EXPECT_THROW(channel.put(3), ChannelClosed);
  EXPECT_EQ(channel.take<int>(), 1);
  EXPECT_EQ(channel.take<int>(), 2);
  EXPECT_THROW(channel.take<int>(), ChannelClosed);
  EXPECT_TRUE(channel.state().closed);
  EXPECT_NE(Channel::create(owner, "samples", {}).epoch(), channel.epoch()) << "a life of its own";
  EXPECT_THROW(channel.take<int>(), ChannelClosed);
}

// Who created it got the closed one, and every put of it failed.
TEST_F(Channels, AClosedOneIsNotMadeAnewWhileSomethingIsLeftOfIt) {
  const auto refusal = [&] {
    try {
      Channel::create(owner, "samples", {.capacity = 4, .weight_max = 10});
    } catch (const ChannelClosed& error) {
      return error.message();
    }
    return std::string();
  };
  channel.put_all({{1}, {2}});
  ChannelBatch held = channel.get();
  channel.close();
  EXPECT_THAT(refusal(),
              ::testing::HasSubstr("1 items left and 1 leases open (items: 1 of driver:"));
  EXPECT_EQ(channel.take<int>(), 2);
  EXPECT_THAT(refusal(), ::testing::HasSubstr("0 items left and 1 leases open"));
  held.acknowledge();
  EXPECT_EQ(refusal(), "");
}

TEST_F(Channels, ClosingEndsThoseThatWait) {
  Channel other = Channel::create(owner, "other", {.capacity = 1});
  other.put(1);
  std::thread producer([&] { EXPECT_THROW(other.put(2), ChannelClosed); });
  std::thread consumer([&] { EXPECT_THROW(other.get({.key = "none"}), ChannelClosed); });
  while (other.state().waiting_puts + other.state().waiting_gets != 2) {
  }
  other.close();
  producer.join();
  consumer.join();
}

TEST_F(Channels, OfAClosedOneALeaseMayStillComeBack) {
  channel.put(1);
  Driver consumer = cluster.driver("consumer");
  EXPECT_EQ(of(consumer).get().items.size(), 1U);
  channel.close();
  std::thread second([&] { EXPECT_EQ(channel.take<int>(), 1); });
  until_waiting(0, 1);
  consumer.close();
  second.join();
}

TEST_F(Channels, TheNextOwnersChannelHasAnotherEpoch) {
  channel.put(1);
  Future<> waiting = owner.submit_named(
      "orrery.channel.get", {{"name", "samples"}, {"key", "x"}, {"epoch", channel.epoch()}});
  until_waiting(0, 1);
  process.signal(SIGKILL);
  EXPECT_THROW(waiting.get(), WorkerLost);
  cluster.forget(cluster.name_of("trainer", 0));
  cluster.start(SDK_WORKER);
  EXPECT_THROW(channel.put(2), ChannelClosed);
  Channel next = Channel::create(owner, "samples", {.capacity = 4, .weight_max = 10});
  EXPECT_NE(next.epoch(), channel.epoch());
  EXPECT_THROW(channel.put(2), ChannelClosed);
  EXPECT_THROW(channel.get(), ChannelClosed);
  EXPECT_EQ(next.put(2), 1U);
}

TEST_F(Channels, TheOwnerItselfPutsToo) {
  EXPECT_EQ(owner.call<int>("put_own", 5), 1);
  EXPECT_EQ(Channel::open(owner, "own").take<int>(), 5);
}

TEST_F(Channels, BuffersStayWhole) {
  Buffer big;
  big.bytes.assign(2'000'000, 9);
  channel.put(big);
  EXPECT_EQ(channel.take<Buffer>(), big);
}

TEST_F(Channels, ManyProducersAndConsumersLoseAndDoubleNothing) {
  constexpr int kEach = 200;
  std::atomic<int> sum = 0;
  std::vector<std::thread> threads;
  for (int producer = 0; producer < 3; ++producer)
    threads.emplace_back([&, producer] {
      for (int i = 0; i < kEach; ++i) channel.put(producer * kEach + i);
    });
  for (int consumer = 0; consumer < 2; ++consumer)
    threads.emplace_back([&] {
      Driver own = cluster.driver();
      Channel there = of(own);
      for (int i = 0; i < kEach * 3 / 2; ++i) sum += there.take<int>();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 3 * kEach * (3 * kEach - 1) / 2);
  EXPECT_EQ(channel.state().items, 0U);
}

}  // namespace
}  // namespace orrery::sdk
