// Methods that give streams: items, credit, the end, cancelling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

class Streams : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    cluster->start(SDK_WORKER);
  }

  static void TearDownTestSuite() { cluster.reset(); }

  /// The line that the endless method wrote when it ended.
  std::string endless_line() {
    trainer.call("add", 0, 0);  // Runs after it.
    for (const std::string& line : trainer.call<std::vector<std::string>>("read_log"))
      if (line.starts_with("endless")) last = line;
    return last;
  }

  static RawCaller raw_caller() {
    return RawCaller(cluster->peer(cluster->name_of("trainer", 0), "driver:raw"), "driver:raw");
  }

  /// Asks the endless method for a stream and takes the items that it has credit for.
  static void take_endless(RawCaller& raw, int credit) {
    raw.send({{"t", "call"},
              {"id", 1},
              {"method", "endless"},
              {"args", Value::array()},
              {"kwargs", Value::object()},
              {"deadline_ms", 60'000},
              {"stream", true},
              {"credit", credit}});
    for (int i = 0; i < credit; ++i) EXPECT_EQ(raw.receive()->header["value"], i);
  }

  static std::unique_ptr<FakeCluster> cluster;
  Driver driver = cluster->driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
  std::string last;
};

std::unique_ptr<FakeCluster> Streams::cluster;

TEST_F(Streams, ItemsComeInOrderUpToTheEnd) {
  Stream<int> stream = trainer.stream<int>("count_to", 100);
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(stream.next(), i);
  EXPECT_EQ(stream.next(), std::nullopt);
  EXPECT_EQ(stream.next(), std::nullopt);
  std::vector<int> all;
  for (const int item : trainer.stream<int>("count_to", 3)) all.push_back(item);
  EXPECT_EQ(all, (std::vector<int>{1, 2, 3}));
}

TEST_F(Streams, WithoutAStreamTheListIsTheAnswer) {
  EXPECT_EQ(trainer.call<std::vector<int>>("count_to", 4), (std::vector<int>{1, 2, 3, 4}));
}

TEST_F(Streams, AMethodWithoutStreamGivesItsValueAsTheOnlyItem) {
  Stream<int> stream = trainer.stream<int>("add", 2, 3);
  EXPECT_EQ(stream.next(), 5);
  EXPECT_EQ(stream.next(), std::nullopt);
}

TEST_F(Streams, AnErrorComesAfterTheItems) {
  Stream<int> stream = trainer.stream<int>("count_and_fail");
  EXPECT_EQ(stream.next(), 1);
  EXPECT_THROW(stream.next(), Remote);
  EXPECT_THROW(trainer.stream("unknown").next_value(), UnknownMethod);
}

TEST_F(Streams, AWorkerWaitsForCredit) {
  RawCaller raw = raw_caller();
  take_endless(raw, 3);
  raw.send({{"t", "call"},
            {"id", 2},
            {"method", "orrery.ping"},
            {"args", Value::array()},
            {"kwargs", Value::object()},
            {"deadline_ms", 60'000}});
  EXPECT_EQ(raw.receive()->header["id"], 2) << "no item without credit";
  raw.send({{"t", "credit"}, {"id", 1}, {"count", 2}});
  EXPECT_EQ(raw.receive()->header["value"], 3);
  EXPECT_EQ(raw.receive()->header["value"], 4);
  raw.send({{"t", "cancel"}, {"id", 1}});
  EXPECT_EQ(raw.error_type(), "Cancelled");
  EXPECT_EQ(endless_line(), "endless put 5");
}

TEST_F(Streams, ADroppedStreamEndsTheMethod) {
  {
    Stream<int> stream = trainer.with({.credit = 4}).stream<int>("endless");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(stream.next(), i);
  }
  EXPECT_THAT(endless_line(), ::testing::HasSubstr("endless put"));
}

TEST_F(Streams, ACallerThatIsGoneEndsTheMethod) {
  {
    RawCaller raw = raw_caller();
    take_endless(raw, 7);
  }
  EXPECT_EQ(endless_line(), "endless put 7");
}

TEST_F(Streams, ADeadlineEndsTheMethod) {
  Stream<int> stream =
      trainer.with({.deadline = std::chrono::milliseconds(50)}).stream<int>("endless");
  const auto take_all = [&] {
    while (stream.next()) {
    }
  };
  EXPECT_THROW(take_all(), Timeout);
  EXPECT_THAT(endless_line(), ::testing::HasSubstr("endless put"));
}

}  // namespace
}  // namespace orrery::sdk
