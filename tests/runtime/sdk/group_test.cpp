// Calls of a group: who runs, with which data, and what returns.
#include "runtime/sdk/group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/runtime/sdk/fake_cluster.hpp"

namespace orrery::sdk {
namespace {

using ::testing::ElementsAre;
using Ranks = std::vector<std::int64_t>;

class Groups : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    for (std::int64_t rank = 0; rank < 4; ++rank)
      cluster->start(SDK_WORKER, {.role = "policy", .role_rank = rank});
  }

  static void TearDownTestSuite() { cluster.reset(); }

  /// The named arguments that each worker recorded since it was last asked, by rank.
  std::vector<Value> recorded(WorkerGroup& group) {
    std::vector<Value> out;
    for (Value& calls : group.call("recorded").result()) {
      Value named = Value::array();
      for (Value& call : calls) named.push_back(call["named"]);
      out.push_back(std::move(named));
    }
    return out;
  }

  static Value one(const Value& named) { return Value::array({named}); }

  static std::unique_ptr<FakeCluster> cluster;
  Driver driver = cluster->driver("test");
  WorkerGroup line{driver, "policy"};
  WorkerGroup grid{driver, "policy", {.sharding = Sharding{{"dp", "tp"}, {2, 2}, {}}}};
};

std::unique_ptr<FakeCluster> Groups::cluster;

TEST_F(Groups, AreTheWorkersOfARoleInTheirOrder) {
  EXPECT_EQ(line.size(), 4);
  EXPECT_EQ(line.generation(), 1U);
  std::vector<Value> ranks;
  for (const Value& where : line.call("where").result()) ranks.push_back(where["role_rank"]);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THROW(WorkerGroup(driver, "dreamer"), NoSuchWorker);
}

TEST_F(Groups, OneWorkerRecordsItsOwnCallAlone) {
  line.run_single_worker("record", 1, {{"x", 10}}).result();
  line.run_single_worker("record", 2, {{"x", 20}}).result();
  EXPECT_THAT(recorded(line),
              ElementsAre(Value::array(), one({{"x", 10}}), one({{"x", 20}}), Value::array()));
  EXPECT_THROW(line.run_single_worker("record", 4), BadArguments);
  EXPECT_THROW(line.run_single_worker("record", 0, {1, 2}), BadArguments);
}

TEST_F(Groups, SingleDataReachesAllOrThoseAtIndexZero) {
  EXPECT_EQ(line.run_all_single_data("record", {{"x", 1}}).result().size(), 4U);
  EXPECT_THAT(recorded(line),
              ElementsAre(one({{"x", 1}}), one({{"x", 1}}), one({{"x", 1}}), one({{"x", 1}})));
  EXPECT_EQ(grid.run_all_single_data("record", {{"x", 2}}).called(), Ranks({0, 1, 2, 3}));
  recorded(grid);
  GroupFuture<> of_tp = grid.run_all_single_data("record", {{"x", 3}}, {"tp"});
  EXPECT_EQ(of_tp.called(), Ranks({0, 2}));
  EXPECT_EQ(of_tp.result().size(), 2U);
  EXPECT_THAT(recorded(grid),
              ElementsAre(one({{"x", 3}}), Value::array(), one({{"x", 3}}), Value::array()));
  EXPECT_EQ(grid.run_all_single_data("record", {{"x", 4}}, {"dp", "tp"}).called(), Ranks({0}));
  recorded(grid);
}

TEST_F(Groups, MultipleDataGivesEachItsItemBesideWhatIsCommon) {
  line.run_all_multiple_data("record", {{"x", {1, 2, 3, 4}}}, {}, {.common = {{"y", 9}}}).result();
  EXPECT_THAT(recorded(line),
              ElementsAre(one({{"x", 1}, {"y", 9}}),
                          one({{"x", 2}, {"y", 9}}),
                          one({{"x", 3}, {"y", 9}}),
                          one({{"x", 4}, {"y", 9}})));
  grid.run_all_multiple_data("record", {{"x", {"a", "b"}}}, {"tp"}).result();
  EXPECT_THAT(recorded(grid),
              ElementsAre(one({{"x", "a"}}), Value::array(), one({{"x", "b"}}), Value::array()));
  EXPECT_THROW(line.run_all_multiple_data("record", {{"x", {1, 2}}}), BadArguments);
  EXPECT_THROW(line.run_all_multiple_data("record", {{"x", 1}}), BadArguments);
  EXPECT_THROW(line.run_all_multiple_data("record", Value::object()), BadArguments);
  EXPECT_THROW(
      line.run_all_multiple_data("record", {{"x", {1, 2, 3, 4}}}, {}, {.common = {{"x", 1}}}),
      BadArguments);
}

TEST_F(Groups, NothingIsSentOfACallThatDoesNotFit) {
  EXPECT_THROW(grid.run_all_multiple_data("record", {{"x", {1, 2, 3}}}, {"tp"}), BadArguments);
  EXPECT_THROW(grid.run_all_single_data("record", Value::object(), {"pp"}), BadArguments);
  EXPECT_THROW(line.run_all_single_data("record", Value::object(), {"tp"}), BadArguments);
  EXPECT_THROW(line.run_all_multiple_data("record", {{"x", {1, 2, 3, {{"$y", 1}}}}}), BadArguments);
  for (const Value& calls : recorded(line)) EXPECT_EQ(calls, Value::array());
}

TEST_F(Groups, ShardedOverTheWholeLineEachHasItsElement) {
  WorkerGroup flat(driver, "policy", {.sharding = Sharding{{"dp"}, {4}, {}}});
  flat.run_all_sharded_data("record", {{"x", {"a", "b", "c", "d"}}}, {.in_sharded_axes = {"dp"}})
      .result();
  EXPECT_THAT(
      recorded(flat),
      ElementsAre(one({{"x", "a"}}), one({{"x", "b"}}), one({{"x", "c"}}), one({{"x", "d"}})));
}

TEST_F(Groups, ShardedAlongOneAxisReplicatedOnTheOther) {
  GroupFuture<> all = grid.run_all_sharded_data(
      "record", {{"x", {"a", "b"}}}, {.in_sharded_axes = {"dp"}, .replicate_on_axes = {"tp"}});
  EXPECT_EQ(all.returning(), Ranks({0, 1, 2, 3}));
  EXPECT_EQ(all.result().size(), 4U);
  EXPECT_THAT(
      recorded(grid),
      ElementsAre(one({{"x", "a"}}), one({{"x", "a"}}), one({{"x", "b"}}), one({{"x", "b"}})));
}

TEST_F(Groups, NestedListsFollowTheAxesAsTheyAreNamed) {
  grid.run_all_sharded_data("record",
                            Value::parse(R"({"x":[["00","01"],["10","11"]]})"),
                            {.in_sharded_axes = {"tp", "dp"}})
      .result();
  // The outer list runs along tp.
  EXPECT_THAT(
      recorded(grid),
      ElementsAre(one({{"x", "00"}}), one({{"x", "10"}}), one({{"x", "01"}}), one({{"x", "11"}})));
  EXPECT_THROW(grid.run_all_sharded_data(
                   "record", {{"x", {{1, 2}, {3}}}}, {.in_sharded_axes = {"tp", "dp"}}),
               BadArguments);
}

TEST_F(Groups, OfAFreeAxisOnlyIndexZeroIsCalled) {
  GroupFuture<> some =
      grid.run_all_sharded_data("record", {{"x", {"a", "b"}}}, {.in_sharded_axes = {"tp"}});
  EXPECT_EQ(some.called(), Ranks({0, 1}));
  EXPECT_EQ(some.result().size(), 2U);
  EXPECT_THAT(recorded(grid),
              ElementsAre(one({{"x", "a"}}), one({{"x", "b"}}), Value::array(), Value::array()));
}

TEST_F(Groups, DummyCallsLetTheOthersTakePart) {
  GroupFuture<> all =
      grid.run_all_sharded_data("record",
                                {{"x", {"a", "b"}}},
                                {.in_sharded_axes = {"tp"}, .make_dummy_calls_to_free_axes = true},
                                {.common = {{"y", 1}}});
  EXPECT_EQ(all.called(), Ranks({0, 1, 2, 3}));
  EXPECT_EQ(all.returning(), Ranks({0, 1}));
  EXPECT_EQ(all.result().size(), 2U);
  EXPECT_THAT(recorded(grid),
              ElementsAre(one({{"x", "a"}, {"y", 1}}),
                          one({{"x", "b"}, {"y", 1}}),
                          one({{"x", nullptr}, {"y", 1}}),
                          one({{"x", nullptr}, {"y", 1}})));
}

TEST_F(Groups, AReplicatedOutputReturnsOnce) {
  GroupFuture<> all = grid.run_all_sharded_data(
      "record",
      {{"x", {"a", "b"}}},
      {.in_sharded_axes = {"dp"}, .replicate_on_axes = {"tp"}, .output_is_replicated = {"tp"}});
  EXPECT_EQ(all.called(), Ranks({0, 1, 2, 3}));
  std::vector<Value> ranks;
  for (const Value& result : all.result()) ranks.push_back(result["rank"]);
  EXPECT_THAT(ranks, ElementsAre(0, 2));
  recorded(grid);
}

TEST_F(Groups, AxesThatCannotBeAreAllNamed) {
  try {
    grid.run_all_sharded_data(
        "record", {{"x", {1, 2}}}, {.in_sharded_axes = {"dp", "pp"}, .replicate_on_axes = {"dp"}});
    ADD_FAILURE() << "it was sent";
  } catch (const BadArguments& error) {
    EXPECT_THAT(error.message(), ::testing::HasSubstr("pp"));
    EXPECT_THAT(error.message(), ::testing::HasSubstr("sharded too"));
  }
  EXPECT_THROW(line.run_all_sharded_data("record", {{"x", {1}}}, {.in_sharded_axes = {"dp"}}),
               BadArguments);
  EXPECT_THROW(WorkerGroup(driver, "policy", {.sharding = Sharding{{"dp"}, {0}, {}}}),
               BadArguments);
  for (const Sharding& unfit : {Sharding{{"dp"}, {3}, {}},
                                Sharding{{"dp"}, {5}, {}},
                                Sharding{{"dp"}, {4}, {0, 1, 2, 5}}}) {
    EXPECT_THROW(WorkerGroup(driver, "policy", {.sharding = unfit}), BadArguments);
    EXPECT_THROW(line.refresh(unfit), BadArguments);
  }
}

TEST_F(Groups, OneErrorLosesNoOtherResult) {
  GroupFuture<> future = line.call("fail_at", 2);
  const std::vector<GroupOutcome> outcomes = future.outcomes();
  ASSERT_EQ(outcomes.size(), 4U);
  for (const GroupOutcome& outcome : outcomes) {
    if (outcome.rank == 2) {
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->type, "Remote");
    } else {
      EXPECT_EQ(outcome.value, outcome.rank);
    }
  }
  EXPECT_THROW(line.call("fail_at", 1).result(), Remote);
}

TEST_F(Groups, BatchesAreCutEvenly) {
  const std::vector<int> five{1, 2, 3, 4, 5};
  GroupFuture<int> future = line.call_batch<int>("double_all", 5, five, 2);
  EXPECT_EQ(future.called(), Ranks({0, 1, 2, 3}));
  EXPECT_EQ(future.flat(), (std::vector<int>{2, 4, 6, 8, 10}));
  const auto pieces = line.call_batch<std::vector<int>>("double_all", 5, five, 1).result();
  EXPECT_EQ(pieces, (std::vector<std::vector<int>>{{1, 2}, {3}, {4}, {5}}));
  EXPECT_EQ(line.call_batch<int>("double_all", 2, std::vector<int>{1, 2}, 1).called(),
            Ranks({0, 1}));
  EXPECT_TRUE(line.call_batch<int>("double_all", 0, std::vector<int>{}, 1).flat().empty());
  EXPECT_THROW(line.call_batch("double_all", 4, five, 2), BadArguments);
}

TEST_F(Groups, RankZeroAndStreams) {
  EXPECT_EQ(line.call_rank0("where").get()["role_rank"], 0);
  const auto counts = [&](const std::vector<std::string>& axes) {
    return grid.run_all_single_data<int>("count_to", {{"last", 2}}, axes, {.stream = true});
  };
  EXPECT_EQ(counts({"tp"}).result(), (std::vector<int>{1, 2, 1, 2}));
  GroupFuture<int> handed_back = counts({"dp", "tp"});
  std::vector<Stream<int>> one_stream = handed_back.streams();
  ASSERT_EQ(one_stream.size(), 1U);
  EXPECT_EQ(one_stream[0].next(), 1);
  GroupFuture<int> streams =
      line.run_all_single_data<int>("add", {{"a", 1}, {"b", 2}}, {}, {.stream = true});
  EXPECT_EQ(streams.result(), (std::vector<int>{3, 3, 3, 3}));
}

// Workers that go on together only: none may wait for its items to be read.
TEST_F(Groups, StreamsOfAllComeHoweverTheyAreRead) {
  constexpr int kItems = 100;  // Beyond the credit of one stream.
  GroupFuture<int> two =
      grid.run_all_single_data<int>("count_to", {{"last", kItems}}, {"tp"}, {.stream = true});
  for (Stream<int>& stream : two.streams())
    while (stream.next()) {
    }
  two.wait();  // Also for those that nobody reads.

  RemoteWorker first = driver.worker("policy", 0);
  const auto held = first.submit<bool>("hold");
  ASSERT_TRUE(first.call<bool>("is_held"));
  GroupFuture<int> all =
      line.run_all_single_data<int>("count_to", {{"last", kItems}}, {}, {.stream = true});
  std::thread reader([&] { EXPECT_EQ(all.result().size(), 4U * kItems); });
  // It is behind the stream in the queue of its worker, and the first one's has not begun.
  driver.worker("policy", 3).call("where");
  first.call("open");
  reader.join();
}

}  // namespace
}  // namespace orrery::sdk
