// Jobs that a driver starts: what is submitted, and the group that comes of it.
#include "runtime/sdk/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/sdk/fake_cluster.hpp"

namespace orrery::sdk {
namespace {

struct Trainer {
  static std::vector<std::string> command() { return {SDK_WORKER}; }
};

TEST(VirtualClusters, HaveAPlacementGroupForEachNodeWithBundles) {
  const VirtualCluster cluster({4, 0, 2});
  EXPECT_EQ(cluster.size(), 6);
  EXPECT_THAT(cluster.placement_groups(),
              ::testing::ElementsAre(PlacementGroup{0, 4}, PlacementGroup{1, 2}));
  EXPECT_THAT(VirtualCluster({4, 2}, {.unified = true}).placement_groups(),
              ::testing::ElementsAre(PlacementGroup{0, 6}));
  EXPECT_THROW(VirtualCluster({}), BadArguments);
  EXPECT_THROW(VirtualCluster({0}), BadArguments);
  EXPECT_THROW(VirtualCluster({2, -1}), BadArguments);
}

TEST(VirtualClusters, StandInTheJobFile) {
  LaunchOptions options;
  options.driver.job = "default.train";
  options.more = {{"priority", "high"}};
  WorkerConfig config;
  config.role = "policy";
  config.command = {"train", "--fast"};
  config.environment = {{"A", "1"}};
  config.more = {{"cpu", 4}};
  const VirtualCluster cluster({4, 4},
                               {.name = "all", .max_worker_groups = 2, .strategy = "spread"});
  EXPECT_EQ(job_of(cluster, config, options), Value::parse(R"({
    "name": "default.train", "priority": "high",
    "virtual_clusters": {"all": {"bundles_per_node": [4, 4], "devices_per_bundle": 1,
                                 "max_worker_groups": 2, "unified": false, "strategy": "spread"}},
    "roles": {"policy": {"command": ["train", "--fast"], "env": {"A": "1"}, "cpu": 4,
                         "virtual_cluster": "all"}}})"));
  config.per_node = {2, 1};
  EXPECT_EQ(job_of(cluster, config, options)["roles"]["policy"]["workers"],
            Value::parse(R"({"virtual_cluster": "all", "per_node": [2, 1]})"));
}

TEST(Launch, AGroupIsCreatedOnAVirtualCluster) {
  FakeCluster fake;
  // The directory lists them as soon as the job is submitted.
  for (std::int64_t rank = 0; rank < 2; ++rank)
    fake.start(SDK_WORKER, {.role = "worker", .role_rank = rank});
  LaunchOptions options;
  options.driver = fake.driver_options("launcher");
  WorkerGroup group =
      create_group<Trainer>(VirtualCluster({2}), {}, Sharding{{"dp"}, {2}, {}}, options);
  EXPECT_EQ(group.run_all_sharded_data("echo", {{"value", {"a", "b"}}}, {.in_sharded_axes = {"dp"}})
                .result(),
            (std::vector<Value>{"a", "b"}));
  const std::vector<std::string> posted = fake.posted();
  ASSERT_EQ(posted.size(), 1U);
  EXPECT_EQ(Value::parse(posted[0])["roles"]["worker"]["command"], Value::array({SDK_WORKER}));
}

TEST(Launch, WithoutAControllerItIsATimeout) {
  LaunchOptions options;
  options.driver = {"http://127.0.0.1:" + std::to_string(worker::ReservedPort().number()), "a"};
  EXPECT_THROW(launch(Value::object(), options), Timeout);
}

}  // namespace
}  // namespace orrery::sdk
