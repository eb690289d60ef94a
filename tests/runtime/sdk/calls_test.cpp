// Calls of a driver and of workers: arguments, answers, order, deadlines.
#include <gtest/gtest.h>

#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/group.hpp"
#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

class Calls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    cluster->start(SDK_WORKER);
    cluster->start(SDK_WORKER, {.role = "actor"});
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static std::unique_ptr<FakeCluster> cluster;
  Driver driver = cluster->driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
};

std::unique_ptr<FakeCluster> Calls::cluster;

TEST_F(Calls, ArgumentsByPlaceAndByName) {
  EXPECT_EQ(trainer.call<int>("add", 2, 3), 5);
  EXPECT_EQ(trainer.call_named<int>("add", {{"b", 3}, {"a", 2}}), 5);
  EXPECT_EQ(trainer.call_named<int>("add", {{"b", 3}}, {2}), 5);
  EXPECT_EQ(trainer.call<int>("perhaps", 2), -1);
  EXPECT_EQ(trainer.call<int>("perhaps", 2, nullptr), -1);
  EXPECT_EQ(trainer.call<int>("perhaps", 2, 3), 5);
  const Value all = trainer.call_named("all", {{"x", 1}}, {2, "three"});
  EXPECT_EQ(all["positional"], Value({2, "three"}));
  EXPECT_EQ(all["named"], Value({{"x", 1}}));
}

// It ended at once: the sum with the time of now was beyond the clock's range.
TEST_F(Calls, ADeadlineMayMeanNever) {
  for (const std::chrono::milliseconds never :
       {std::chrono::milliseconds::max(), std::chrono::milliseconds(std::int64_t{1} << 50)}) {
    EXPECT_EQ(trainer.within(never).call<int>("add", 2, 3), 5);
    EXPECT_TRUE(trainer.submit<int>("add", 2, 3).wait_for(never));
    WorkerGroup group(driver, "trainer", {.form_deadline = never});
    EXPECT_EQ(group.size(), 1);
  }
}

TEST_F(Calls, ValuesComeBackAsTheyWere) {
  for (const Value& value : {Value(nullptr),
                             Value(true),
                             Value(-1),
                             Value(1.5),
                             Value("ä\n"),
                             Value::array(),
                             Value::object(),
                             Value({{"a", {1, {{"b", Value::binary({1, 2, 3})}}}}}),
                             Value::binary({})})
    EXPECT_EQ(trainer.call("echo", value), value);
}

TEST_F(Calls, BuffersTravelWhole) {
  Buffer buffer;
  buffer.bytes.assign(3'000'000, 2);
  EXPECT_EQ(trainer.call<std::uint64_t>("sum", buffer), 6'000'000U);
  EXPECT_EQ(trainer.call<Buffer>("bytes", 5'000'000).bytes,
            std::vector<std::uint8_t>(5'000'000, 7));
}

TEST_F(Calls, AClassIsAWorkerToo) {
  const int before = trainer.call<int>("count");
  EXPECT_EQ(trainer.call<int>("add_count", 5), before + 5);
  EXPECT_EQ(trainer.call_named<int>("add_count", {{"by", 2}}), before + 7);
}

TEST_F(Calls, TheContextSaysWhoCalls) {
  const Value context = trainer.within(std::chrono::seconds(30)).call("context");
  EXPECT_EQ(context["caller"], "driver:test");
  EXPECT_EQ(context["method"], "context");
  EXPECT_GT(context["left_ms"].get<int>(), 0);
  EXPECT_LE(context["left_ms"].get<int>(), 30'000);
  EXPECT_EQ(context["cancelled"], false);
  EXPECT_EQ(context["attempt"], 0);
}

TEST_F(Calls, WorkersCallEachOtherInTheirNames) {
  const Value context = trainer.call("call_peer", "actor", 0, "context");
  EXPECT_EQ(context["caller"], cluster->name_of("trainer", 0));
  EXPECT_EQ(driver.worker_named(cluster->name_of("actor", 0)).call("where")["worker"],
            cluster->name_of("actor", 0));
}

TEST_F(Calls, RunInTheOrderOfTheirArrival) {
  trainer.call("read_log");
  std::vector<Future<>> futures;
  for (int i = 0; i < 200; ++i)
    futures.push_back(trainer.submit("log", "line " + std::to_string(i)));
  for (Future<>& future : futures) future.get();
  const auto log = trainer.call<std::vector<std::string>>("read_log");
  ASSERT_GE(log.size(), 200U);
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_EQ(log[log.size() - 200 + i], "line " + std::to_string(i));
}

TEST_F(Calls, ConcurrentMethodsRunBesideTheOthers) {
  Future<bool> held = trainer.submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  EXPECT_FALSE(held.is_ready());
  trainer.call("open");
  EXPECT_TRUE(held.get());
}

TEST_F(Calls, WhatWaitsInTheQueueTimesOutWithoutRunning) {
  Future<bool> held = trainer.submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  Future<> late = trainer.within(std::chrono::milliseconds(20)).submit("log", "too late");
  EXPECT_THROW(late.get(), Timeout);
  trainer.call("open");
  held.get();
  for (const std::string& line : trainer.call<std::vector<std::string>>("read_log"))
    EXPECT_NE(line, "too late");
}

TEST_F(Calls, TheWorkerAnswersTimeoutItself) {
  RawCaller raw(cluster->peer(cluster->name_of("trainer", 0), "driver:raw"), "driver:raw");
  const auto call = [&](std::uint64_t id, const char* method, int deadline_ms) {
    raw.send({{"t", "call"},
              {"id", id},
              {"method", method},
              {"args", Value::array()},
              {"kwargs", Value::object()},
              {"deadline_ms", deadline_ms}});
  };
  call(1, "where", 0);
  EXPECT_EQ(raw.error_type(), "Timeout");
  call(2, "hold", 60'000);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  call(3, "where", 10);
  const std::optional<Frame> answer = raw.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header["id"], 3);
  EXPECT_EQ(answer->header["error"]["type"], "Timeout");
  trainer.call("open");
  EXPECT_EQ(raw.receive()->header["id"], 2);
}

TEST_F(Calls, CancelEndsTheCallAndTellsTheMethod) {
  const int before = trainer.call<int>("cancelled", 0);
  Future<bool> held = trainer.submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  Future<> queued = trainer.submit("log", "cancelled before its turn");
  queued.cancel();
  EXPECT_THROW(queued.get(), Cancelled);
  held.cancel();
  EXPECT_THROW(held.get(), Cancelled);
  EXPECT_EQ(trainer.call<int>("cancelled", before + 1), before + 1);
  for (const std::string& line : trainer.call<std::vector<std::string>>("read_log"))
    EXPECT_NE(line, "cancelled before its turn");
}

TEST_F(Calls, ManyAtOnceAreAllAnswered) {
  std::vector<Future<int>> futures;
  for (int i = 0; i < 6000; ++i) futures.push_back(trainer.submit<int>("add", i, 1));
  for (int i = 0; i < 6000; ++i) EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i + 1);
}

TEST_F(Calls, AMethodThatIsTooMuchForOneConnectionBreaksARule) {
  RawCaller raw(cluster->peer(cluster->name_of("trainer", 0), "driver:raw"), "driver:raw");
  Future<bool> held = trainer.submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  for (int id = 1; id <= 4097; ++id)
    raw.send({{"t", "call"},
              {"id", id},
              {"method", "where"},
              {"args", Value::array()},
              {"kwargs", Value::object()},
              {"deadline_ms", 60'000}});
  EXPECT_EQ(raw.error_type(), "Protocol");
  trainer.call("open");
  held.get();
  EXPECT_EQ(trainer.call<int>("add", 1, 1), 2);
}

TEST_F(Calls, TheSdksOwnMethodsAnswer) {
  const Value methods = trainer.call("orrery.methods");
  EXPECT_TRUE(methods.is_array());
  EXPECT_EQ(trainer.call("orrery.ping")["rank"], 0);
}

TEST_F(Calls, ACallOutlivesItsDriver) {
  std::vector<Future<int>> futures;
  for (int i = 0; i < 20; ++i)
    futures.push_back(cluster->driver().worker("trainer", 0).submit<int>("add", i, 1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i + 1);
}

TEST_F(Calls, AClosedDriverCancels) {
  Driver own = cluster->driver("closing");
  Future<bool> held = own.worker("trainer", 0).submit<bool>("hold_beside");
  EXPECT_TRUE(own.worker("trainer", 0).call<bool>("is_held"));
  own.close();
  EXPECT_THROW(held.get(), Cancelled);
  EXPECT_THROW(own.worker("trainer", 0).call("add", 1, 2), Cancelled);
}

}  // namespace
}  // namespace orrery::sdk
