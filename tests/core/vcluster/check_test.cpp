// What check_spec says about virtual clusters, worker groups, placements and turns: each case
// breaks one thing in a sound job and must be told of exactly that.

#include <gtest/gtest.h>

#include <functional>

#include "core/job/check_placement.hpp"

namespace orrery {
namespace {

JobSpec sound_job() {
  JobSpec job;
  job.name = "default.rl";
  VirtualClusterSpec cluster;
  cluster.name = "train";
  cluster.bundles_per_node = {4, 4};
  job.virtual_clusters = {cluster};
  RoleSpec learner;
  learner.name = "learner";
  learner.min_replicas = learner.max_replicas = 8;
  learner.bundle.devices = 1;
  learner.workers.virtual_cluster = "train";
  RoleSpec env;
  env.name = "env";
  env.min_replicas = 1;
  env.max_replicas = 2;
  env.placements = {{1, {}, "0:0"}, {2, {}, "0-1:0-1"}};
  RoleSpec judge;
  judge.name = "judge";
  judge.placements = {{1, {}, "0:0"}};
  job.roles = {learner, env, judge};
  job.take_turns = {{{"env", "judge"}}};
  return job;
}

struct Case {
  const char* name;
  std::function<void(JobSpec&)> spoil;
  const char* told;  // Of the only error's text.
};

VirtualClusterSpec& train(JobSpec& job) { return job.virtual_clusters[0]; }

WorkerGroupSpec& learners(JobSpec& job) { return job.roles[0].workers; }

void segments(JobSpec& job, std::int32_t size) {
  train(job).segment_by = SegmentBy::NvlinkDomain;
  train(job).segment_size = size;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"name",
       [](JobSpec& j) { train(j).name = learners(j).virtual_cluster = "T"; },
       "virtual cluster T: name is 'T', a DNS label"},
      {"devices",
       [](JobSpec& j) { train(j).devices_per_bundle = j.roles[0].bundle.devices = -1; },
       "devices_per_bundle is -1, 0 to 64"},
      {"cpu",
       [](JobSpec& j) { train(j).cpu_per_bundle.count = j.roles[0].bundle.cpu.count = -1; },
       "cpu_per_bundle is negative"},
      {"groups", [](JobSpec& j) { train(j).max_worker_groups = 0; }, "max_worker_groups is 0"},
      {"together",
       [](JobSpec& j) { train(j).devices_per_bundle = j.roles[0].bundle.devices = 17; },
       "4 bundles of one logical node have 68 devices, one node has 64"},
      {"strict_pack",
       [](JobSpec& j) {
         train(j).strategy = BundleStrategy::StrictPack;
         train(j).devices_per_bundle = j.roles[0].bundle.devices = 9;
       },
       "strict_pack puts 72 devices on one node"},
      {"segment_size", [](JobSpec& j) { segments(j, -1); }, "segment_size is -1"},
      {"segment_by", [](JobSpec& j) { train(j).segment_size = 1; }, "segment_by is none"},
      {"divides",
       [](JobSpec& j) {
         train(j).bundles_per_node = {4, 0, 2, 2};
         segments(j, 2);
       },
       "segment_size 2 does not divide the 3 logical nodes"},
      {"strict_pack_segments",
       [](JobSpec& j) {
         train(j).strategy = BundleStrategy::StrictPack;
         segments(j, 1);
       },
       "asks for 2 segments"},
      {"unequal_segments",
       [](JobSpec& j) {
         train(j).unified = true;
         train(j).bundles_per_node = {5, 3};
         segments(j, 1);
       },
       "have 5 and 3 bundles, equally many are needed"},
      {"unknown",
       [](JobSpec& j) { learners(j).virtual_cluster = "gen"; },
       "sits on virtual cluster 'gen', which the job does not have"},
      {"unused",
       [](JobSpec& j) {
         j.virtual_clusters.push_back({"gen", {1}});
       },
       "virtual cluster gen: no role has workers on it"},
      {"replicas",
       [](JobSpec& j) { j.roles[0].max_replicas = 9; },
       "has 8 to 9 replicas, the 8 workers"},
      {"elsewhere",
       [](JobSpec& j) { j.roles[0].bundle.devices = 2; },
       "a worker takes 2 devices, bundles of virtual cluster train have 1"},
      {"worker_cpu",
       [](JobSpec& j) { j.roles[0].bundle.cpu = MilliCpu{1}; },
       "takes more cpu or memory"},
      {"worker_model",
       [](JobSpec& j) { j.roles[0].bundle.device_model = "h200"; },
       "asks for device model h200, virtual cluster train for any"},
      {"length",
       [](JobSpec& j) {
         learners(j).workers_per_node = {1, 2, 3};
       },
       "workers_per_node has 3 values, one or 2"},
      {"too_many",
       [](JobSpec& j) {
         learners(j).workers_per_node = {4, 5};
       },
       "asks for 5 workers on logical node 1, 0 to 4"},
      {"no_worker", [](JobSpec& j) { learners(j).workers_per_node = {0}; }, "asks for no worker"},
      {"tied_node",
       [](JobSpec& j) {
         learners(j).tied = {{2, {0}}};
       },
       "names logical node 2, 0 to 1"},
      {"tied_unified",
       [](JobSpec& j) {
         train(j).unified = true;
         learners(j).tied = {{1, {0}}};
       },
       "names logical node 1, 0 is needed"},
      {"tied_bundle",
       [](JobSpec& j) {
         learners(j).tied = {{1, {4}}};
       },
       "names bundle 4 of logical node 1, 0 to 3"},
      {"tied_twice",
       [](JobSpec& j) {
         learners(j).tied = {{1, {0, 1}}, {1, {1}}};
       },
       "bundle 1 of logical node 1 is tied twice"},
      {"tied_empty",
       [](JobSpec& j) {
         learners(j).tied = {{1, {}}};
       },
       "has no bundle"},
      {"both_ways",
       [](JobSpec& j) {
         learners(j).workers_per_node = {4};
         learners(j).tied = {{0, {0, 1, 2, 3}}, {1, {0, 1, 2, 3}}};
       },
       "both workers_per_node and tied groups"},
      {"nameless",
       [](JobSpec& j) { j.roles[1].workers.workers_per_node = {1}; },
       "no virtual cluster is named"},
      {"placed_twice",
       [](JobSpec& j) {
         j.roles[0].placements = {{8, {}, "0-7"}};
       },
       "has both placements and workers"},
      {"descending",
       [](JobSpec& j) {
         j.roles[1].placements.insert(j.roles[1].placements.begin() + 1, {1, {}, "1:0"});
       },
       "the placement for 1 replicas stands after that for 1"},
      {"ends",
       [](JobSpec& j) { j.roles[1].max_replicas = 3; },
       "placements are for 1 to 2 replicas and the role has 1 to 3"},
      {"turn_of_one", [](JobSpec& j) { j.take_turns[0].roles.pop_back(); }, "a group has 1 roles"},
      {"turn_unknown",
       [](JobSpec& j) { j.take_turns[0].roles.push_back("x"); },
       "names role 'x', which the job does not have"},
      {"turn_twice",
       [](JobSpec& j) { j.take_turns[0].roles.push_back("env"); },
       "names role env twice"},
      {"turn_workers",
       [](JobSpec& j) { j.take_turns[0].roles.push_back("learner"); },
       "whose workers sit on a virtual cluster"},
      {"turn_unplaced",
       [](JobSpec& j) { j.roles[2].placements.clear(); },
       "names role judge, which sits wherever it fits"},
  };
  return all;
}

TEST(CheckPlacement, ASoundJobIsLeftAlone) {
  for (const Error& error : check_spec(sound_job())) ADD_FAILURE() << error.text();
}

TEST(CheckPlacement, TellsEachThing) {
  for (const Case& c : cases()) {
    JobSpec job = sound_job();
    c.spoil(job);
    const Errors errors = check_spec(job);
    bool told = false;
    for (const Error& error : errors) {
      told = told || error.text().find(c.told) != std::string::npos;
      EXPECT_NE(error.text().find("; "), std::string::npos) << c.name << " has no remedy";
    }
    EXPECT_TRUE(told) << c.name << ": " << (errors.empty() ? "nothing" : errors[0].text());
  }
}

TEST(CheckPlacement, TellsOneThingOnce) {
  for (const char* name : {"groups",
                           "divides",
                           "segment_by",
                           "unequal_segments",
                           "length",
                           "too_many",
                           "tied_twice",
                           "ends",
                           "turn_twice",
                           "replicas"}) {
    for (const Case& c : cases()) {
      if (std::string(c.name) != name) continue;
      JobSpec job = sound_job();
      c.spoil(job);
      EXPECT_EQ(check_spec(job).size(), 1U) << c.name;
    }
  }
}

TEST(CheckPlacement, MoreWorkerGroupsThanMayShare) {
  JobSpec job = sound_job();
  job.roles[1] = job.roles[0];
  job.roles[1].name = "rollout";
  job.take_turns.clear();
  const Errors errors = check_spec(job);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].text().find("2 worker groups sit on it, max_worker_groups lets 1"),
            std::string::npos);
  train(job).max_worker_groups = 2;
  EXPECT_TRUE(check_spec(job).empty());
}

TEST(CheckPlacement, NoBundles) {
  JobSpec job = sound_job();
  for (const std::vector<std::int32_t>& none :
       {std::vector<std::int32_t>{}, {0, 0}, {1'000'000, 1}, {2'000'000'000, 2'000'000'000}}) {
    train(job).bundles_per_node = none;
    train(job).unified = true;
    EXPECT_FALSE(check_virtual_cluster(train(job), "x").empty());
  }
  train(job).bundles_per_node = {8, -1};
  ASSERT_EQ(check_virtual_cluster(train(job), "x").size(), 1U);
  EXPECT_EQ(check_virtual_cluster(train(job), "x")[0].text(),
            "x: bundles_per_node has -1, 0 or more is needed on each node; correct it");
}

}  // namespace
}  // namespace orrery
