// Which workers run with which part of the data, and which results return.
#include "core/workers/run_all.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/core/workers/grids.hpp"

namespace orrery::workers {
namespace run_all_tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Axes = std::vector<std::string>;

/// "0:shard0 1:shard1* 2:dummy": calls in order, * where the result returns.
std::string told(const RunPlan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const WorkerCall& call = plan.calls[i];
    if (i > 0) out += ' ';
    out.append(std::to_string(call.worker)).append(":").append(to_string(call.data));
    if (call.part >= 0) out += std::to_string(call.part);
    if (std::ranges::find(plan.returns, i) != plan.returns.end()) out += '*';
  }
  return out;
}

std::string told(const Result<RunPlan>& plan) {
  if (plan) return told(*plan);
  std::string out = "refused:";
  for (const std::string& text : refusals(plan)) out += " " + text;
  return out;
}

CallArguments no_data() { return {}; }

CallArguments lists(std::vector<std::int32_t> extents) {
  return {0, {{"data", std::move(extents)}}};
}

const NamedSharding& dp2_tp2() {
  static const NamedSharding grid = NamedSharding::grid({"dp", "tp"}, {2, 2}).value();
  return grid;
}

CalledGroup four() { return {4, &dp2_tp2()}; }

CalledGroup plain(std::int32_t workers) { return {workers, nullptr}; }

TEST(RunSingleWorker, RunsAndReturnsThatOne) {
  EXPECT_EQ(told(run_single_worker(plain(2), 1, no_data())), "1:shared*");
  EXPECT_EQ(told(run_single_worker(four(), 3, lists({7}))), "3:shared*");
  EXPECT_EQ(told(run_single_worker(plain(2), 2, no_data())),
            "refused: worker 2: found no such worker, needed 0 to 1; choose a worker of the group");
  EXPECT_THAT(refusals(run_single_worker(plain(2), -1, {1, {}})),
              ElementsAre("arguments: found 1 positional, needed keywords only; name each argument",
                          HasSubstr("worker -1")));
}

TEST(RunAllSingleData, RunsAllOrThoseAtZeroOfTheNamedAxes) {
  const auto run = [](const Axes& axes) { return told(run_all_single_data(four(), {}, axes)); };
  EXPECT_EQ(run({}), "0:shared* 1:shared* 2:shared* 3:shared*");
  EXPECT_EQ(run({"tp"}), "0:shared* 2:shared*");
  EXPECT_EQ(run({"dp"}), "0:shared* 1:shared*");
  EXPECT_EQ(run({"dp", "tp"}), "0:shared*");
  EXPECT_EQ(run({"xx"}),
            "refused: run_rank_0_only_axes: found axis 'xx', needed one of dp, tp; name an axis of "
            "the grid");
}

TEST(RunAllSingleData, NeedsNoShardingUnlessAxesAreNamed) {
  EXPECT_EQ(told(run_all_single_data(plain(3), no_data())), "0:shared* 1:shared* 2:shared*");
  EXPECT_THAT(told(run_all_single_data(plain(3), no_data(), Axes{"tp"})),
              HasSubstr("found axis tp for a group without named sharding"));
}

TEST(RunAllMultipleData, GivesTheIthItemToTheIthWorkerThatIsStarted) {
  EXPECT_EQ(told(run_all_multiple_data(plain(2), lists({2}))), "0:item0* 1:item1*");
  EXPECT_EQ(told(run_all_multiple_data(four(), lists({4}))), "0:item0* 1:item1* 2:item2* 3:item3*");
  EXPECT_EQ(told(run_all_multiple_data(four(), lists({2}), Axes{"tp"})), "0:item0* 2:item1*");
}

TEST(RunAllMultipleData, RefusesListsThatAreNotAsLongAsWorkersRun) {
  const std::string two_for_four =
      "argument data: found 2 items, needed 4, one per worker that is started; give each its item";
  EXPECT_THAT(refusals(run_all_multiple_data(four(), lists({2}))), ElementsAre(two_for_four));
  EXPECT_THAT(refusals(run_all_multiple_data(four(), {0, {{"data", {2}}, {"more", {4}}}})),
              ElementsAre(two_for_four));
  EXPECT_THAT(refusals(run_all_multiple_data(four(), lists({4}), Axes{"tp"})),
              ElementsAre(HasSubstr("found 4 items, needed 2")));
  EXPECT_THAT(refusals(run_all_multiple_data(four(), no_data())),
              ElementsAre(HasSubstr("call with single data instead")));
  EXPECT_THAT(refusals(run_all_multiple_data(four(), {1, {{"data", {4}}}})),
              ElementsAre(HasSubstr("found 1 positional")));
}

struct Sharded {
  std::string what;
  std::vector<std::int32_t> extents;
  ShardedCall call;
  std::string told;
};

TEST(RunAllShardedData, FollowsTheTableOfRules) {
  const std::vector<Sharded> cases{
      {"shard dp, replicate tp",
       {2},
       {{"dp"}, {"tp"}, {}, false},
       "0:shard0* 1:shard0* 2:shard1* 3:shard1*"},
      {"shard tp, dp is free", {2}, {{"tp"}, {}, {}, false}, "0:shard0* 1:shard1*"},
      {"shard tp, dummy calls along dp",
       {2},
       {{"tp"}, {}, {}, true},
       "0:shard0* 1:shard1* 2:dummy 3:dummy"},
      {"output replicated along tp",
       {2},
       {{"dp"}, {"tp"}, {"tp"}, false},
       "0:shard0* 1:shard0 2:shard1* 3:shard1"},
      {"both axes, dp outside",
       {2, 2},
       {{"dp", "tp"}, {}, {}, false},
       "0:shard0* 1:shard1* 2:shard2* 3:shard3*"},
      {"both axes, tp outside",
       {2, 2},
       {{"tp", "dp"}, {}, {}, false},
       "0:shard0* 1:shard2* 2:shard1* 3:shard3*"},
      {"all replicated, one result",
       {},
       {{}, {"dp", "tp"}, {"dp", "tp"}, false},
       "0:shard0* 1:shard0 2:shard0 3:shard0"},
      {"all free", {}, {{}, {}, {}, false}, "0:shard0*"},
      {"output gathered along the sharded axis",
       {2},
       {{"dp"}, {"tp"}, {"dp"}, false},
       "0:shard0* 1:shard0* 2:shard1 3:shard1"},
  };
  for (const Sharded& one : cases)
    EXPECT_EQ(told(run_all_sharded_data(four(), lists(one.extents), one.call)), one.told)
        << one.what;
}

TEST(RunAllShardedData, RefusesAxesAndDataThatDoNotFitAllAtOnce) {
  const auto run = [](std::vector<std::int32_t> extents, const ShardedCall& call) {
    return refusals(run_all_sharded_data(four(), lists(std::move(extents)), call));
  };
  EXPECT_THAT(run({2}, {{"dp"}, {"dp"}, {}, false}),
              ElementsAre("replicate_on_axes: found axis dp, which is sharded too, needed one of "
                          "both; take it out of one list"));
  EXPECT_THAT(run({2}, {{"xx"}, {"yy"}, {"zz"}, false}),
              ElementsAre(HasSubstr("in_sharded_axes: found axis 'xx'"),
                          HasSubstr("replicate_on_axes: found axis 'yy'"),
                          HasSubstr("output_is_replicated: found axis 'zz'")));
  EXPECT_THAT(run({2}, {{"dp", "dp"}, {}, {}, false}),
              ElementsAre(HasSubstr("in_sharded_axes: found axis dp twice")));
  EXPECT_THAT(run({3}, {{"dp"}, {"tp"}, {}, false}),
              ElementsAre("argument data: found 3 elements along axis dp, needed 2; split the data "
                          "into one element per index of the axis"));
  EXPECT_THAT(run({2}, {{"dp", "tp"}, {}, {}, false}),
              ElementsAre(HasSubstr("found 0 elements along axis tp, needed 2")));
  EXPECT_THAT(refusals(run_all_sharded_data(plain(4), lists({2}), {{"dp"}, {}, {}, false})),
              ElementsAre(HasSubstr("group: found no named sharding")));
  EXPECT_THAT(refusals(run_all_sharded_data({3, &dp2_tp2()}, lists({2}), {{"dp"}, {}, {}, false})),
              ElementsAre("named sharding: found dp=2 tp=2: [[0 1] [2 3]], needed a place for each "
                          "of the 3 workers; number its ranks 0 to workers - 1"));
}

TEST(Collect, KeepsWorkerOrderAndFlattensOrHandsBackStreams) {
  const RunPlan plan =
      run_all_sharded_data(four(), lists({2}), {{"dp"}, {"tp"}, {"tp"}, false}).value();
  const std::vector<CallAnswer> answers{{true, 2}, {true, 5}, {false, 1}, {true, 3}};
  EXPECT_THAT(collect(plan, answers, Streams::Flatten),
              ElementsAre(ResultPiece{0, 0}, ResultPiece{0, 1}, ResultPiece{2, -1}));
  EXPECT_THAT(collect(plan, answers, Streams::HandBack),
              ElementsAre(ResultPiece{0, -1}, ResultPiece{2, -1}));
  EXPECT_THAT(collect(plan, std::vector<CallAnswer>(4, {true, 0}), Streams::Flatten), IsEmpty());
}

/// Each axis is sharded, replicated or free; outputs are replicated along some.
ShardedCall random_call(const NamedSharding& grid, Random& random) {
  ShardedCall call;
  call.make_dummy_calls_to_free_axes = random.chance(0.5);
  for (const std::string& axis : grid.names()) {
    const std::uint64_t kind = random.below(3);
    if (kind == 0) call.in_sharded_axes.push_back(axis);
    if (kind == 1) call.replicate_on_axes.push_back(axis);
    if (kind == 1 && random.chance(0.5)) call.output_is_replicated.push_back(axis);
  }
  random.shuffle(call.in_sharded_axes);
  return call;
}

std::vector<std::int32_t> extents_of(const NamedSharding& grid, const Axes& axes) {
  std::vector<std::int32_t> out;
  for (const std::string& axis : axes) out.push_back(grid.axis_size(axis).value());
  return out;
}

TEST(RunAllProperty, ShardsAreCompleteAndEveryWorkerHasAtMostOne) {
  const std::uint64_t seed = 771;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 500; ++round) {
    const NamedSharding grid = random_grid(random);
    const ShardedCall call = random_call(grid, random);
    const std::vector<std::int32_t> extents = extents_of(grid, call.in_sharded_axes);
    const auto workers = static_cast<std::int32_t>(grid.size());
    const RunPlan plan = run_all_sharded_data({workers, &grid}, lists(extents), call).value();
    SCOPED_TRACE(grid.text() + " " + told(plan));

    std::set<std::int32_t> shards;
    std::set<std::int32_t> called;
    for (const WorkerCall& one : plan.calls) {
      EXPECT_TRUE(called.insert(one.worker).second) << "a worker runs once";
      if (one.data == CallData::Shard) shards.insert(one.part);
      EXPECT_EQ(one.data == CallData::Dummy, one.part < 0);
    }
    std::int32_t wanted = 1;
    for (const std::int32_t extent : extents) wanted *= extent;
    EXPECT_EQ(static_cast<std::int32_t>(shards.size()), wanted) << "every shard has a worker";
    EXPECT_EQ(*shards.rbegin(), wanted - 1);
    if (call.make_dummy_calls_to_free_axes) {
      EXPECT_EQ(called.size(), grid.size());
    }

    for (const WorkerCall& one : plan.calls) {
      if (one.data != CallData::Shard) continue;
      const std::vector<std::int32_t> path = shard_path(plan, one.part);
      for (std::size_t i = 0; i < path.size(); ++i)
        EXPECT_EQ(path[i],
                  grid.coordinates_of(one.worker)
                      .value()[grid.axis_index(call.in_sharded_axes[i]).value()]);
    }
  }
}

TEST(RunAllProperty, AReplicatedOutputReturnsOnceAndOthersAlways) {
  const std::uint64_t seed = 772;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 500; ++round) {
    const NamedSharding grid = random_grid(random);
    const ShardedCall call = random_call(grid, random);
    const auto workers = static_cast<std::int32_t>(grid.size());
    const RunPlan plan =
        run_all_sharded_data({workers, &grid}, lists(extents_of(grid, call.in_sharded_axes)), call)
            .value();
    SCOPED_TRACE(grid.text() + " " + told(plan));
    // Workers that differ only along replicated outputs form one class; one of each returns.
    std::map<std::vector<std::int32_t>, int> returned;
    for (std::size_t i = 0; i < plan.calls.size(); ++i) {
      if (plan.calls[i].data != CallData::Shard) continue;
      std::vector<std::int32_t> at = grid.coordinates_of(plan.calls[i].worker).value();
      for (const std::string& axis : call.output_is_replicated)
        at[grid.axis_index(axis).value()] = 0;
      returned[at] += std::ranges::find(plan.returns, i) != plan.returns.end() ? 1 : 0;
    }
    for (const auto& [at, count] : returned) EXPECT_EQ(count, 1);
    std::size_t total = 0;
    for (const auto& [at, count] : returned) total += static_cast<std::size_t>(count);
    EXPECT_EQ(plan.returns.size(), total) << "dummy calls return nothing";
    EXPECT_TRUE(std::ranges::is_sorted(plan.returns));
  }
}

}  // namespace run_all_tests
}  // namespace orrery::workers
