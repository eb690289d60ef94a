// What worker processes are told of their rank, their peers and their devices.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "runtime/agent/worker_environment.hpp"
#include "tests/runtime/agent/run_members.hpp"
#include "tests/runtime/shim/observing.hpp"

namespace orrery::runtime {
namespace rank_environment_tests {

/// Two learners with two devices each, and an actor without any.
std::vector<WorkerStart> members() {
  const auto worker = [](std::uint32_t rank, std::uint16_t role, std::int32_t local) {
    return WorkerStart{Rank{rank}, RoleIndex{role}, local, NodeId{0}, Incarnation{1}};
  };
  std::vector<WorkerStart> out{worker(0, 0, 0), worker(1, 1, 0), worker(2, 0, 1)};
  out[0].devices = 0b0011;
  out[2].devices = 0b1100;
  out[1].hardware = 0b10;
  return out;
}

JobSpec job_running(const std::string& script) {
  JobSpec spec;
  spec.name = "default.rl";
  for (const char* name : {"learner", "actor"}) {
    spec.roles.emplace_back();
    spec.roles.back().name = name;
    spec.roles.back().max_replicas = 4;
    spec.roles.back().command = {"/bin/sh", "-c", script};
  }
  return spec;
}

TEST(RankEnvironment, AWorkerPrintsItsRankItsPeersAndItsDevices) {
  const Scratch scratch("ranks");
  const std::string folder = scratch.path();
  const JobSpec spec = job_running(
      "echo \"$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $ROLE_NAME:$ROLE_RANK/"
      "$ROLE_WORLD_SIZE node $NODE_RANK $MASTER_ADDR:$MASTER_PORT "
      "devices [$CUDA_VISIBLE_DEVICES] $ORRERY_NODE_LOCAL_RANK/$ORRERY_NODE_LOCAL_WORLD_SIZE "
      "[$ORRERY_DEVICE_INDEXES] [$ORRERY_HARDWARE]\" > " +
      folder + "/$RANK");
  run_members(spec, members(), JobId{7});
  const auto printed = [&](const char* rank) {
    std::ifstream in(scratch.path() / rank);
    std::string line;
    std::getline(in, line);
    return line;
  };
  EXPECT_EQ(printed("0"), "0/3 0/1 learner:0/2 node 0 127.0.0.1:1407 devices [0,1] 0/3 [0,1] []");
  EXPECT_EQ(printed("1"), "1/3 1/3 actor:0/1 node 0 127.0.0.1:1407 devices [] 1/3 [] [1]");
  EXPECT_EQ(printed("2"), "2/3 0/1 learner:1/2 node 0 127.0.0.1:1407 devices [2,3] 2/3 [0,1] []");
}

TEST(RankEnvironment, WhatARoleSetsOfItIsComputedAllTheSame) {
  JobSpec spec = job_running("test \"$RANK\" != 99 && test \"$WORLD_SIZE\" = 3");
  spec.roles[1].environment = {{"RANK", "99"}, {"COLOUR", "green"}, {"CUDA_VISIBLE_DEVICES", "0"}};
  run_members(spec, members(), JobId{7});
}

/// The worker's variables by name; what this program itself was started with is among them.
std::map<std::string, std::string> told(const SpawnWorker& order,
                                        const JobSpec& spec,
                                        const std::vector<WorkerStart>& known) {
  std::map<std::string, std::string> out;
  const Result<std::vector<std::string>> all = environment_of(order, spec, known);
  for (const std::string& entry : all.value()) {
    const std::size_t equals = entry.find('=');
    EXPECT_TRUE(out.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second) << entry;
  }
  return out;
}

SpawnWorker spawn_of(const WorkerStart& member, std::uint32_t world_size) {
  SpawnWorker order;
  order.worker = {JobId{0}, Incarnation{1}, member.rank};
  order.slot = {member.role, member.local_rank};
  order.rank = member.rank;
  order.world_size = world_size;
  order.devices = member.devices;
  return order;
}

TEST(RankEnvironment, TheLeaderOfATiedGroupIsToldItsBundlesAndSeesTheirDevices) {
  JobSpec spec = job_running("true");
  VirtualClusterSpec cluster;
  cluster.name = "generation";
  cluster.bundles_per_node = {2};
  spec.virtual_clusters = {cluster};
  spec.roles[0].workers.virtual_cluster = "generation";
  spec.roles[0].workers.tied = {{0, {0, 1}}};
  const std::vector<WorkerStart> all = members();
  std::map<std::string, std::string> leader = told(spawn_of(all[0], 3), spec, all);
  EXPECT_EQ(leader["ORRERY_BUNDLES"], "0,1");
  EXPECT_EQ(leader["CUDA_VISIBLE_DEVICES"], "0,1,2,3");
  EXPECT_EQ(leader["ORRERY_DEVICES"], "0,1");
  EXPECT_EQ(leader["LOCAL_RANK"], "0");
  std::map<std::string, std::string> other = told(spawn_of(all[2], 3), spec, all);
  EXPECT_FALSE(other.contains("ORRERY_BUNDLES"));
  EXPECT_EQ(other["CUDA_VISIBLE_DEVICES"], "2,3");
  std::map<std::string, std::string> actor = told(spawn_of(all[1], 3), spec, all);
  EXPECT_EQ(actor["CUDA_VISIBLE_DEVICES"], "") << "a role that is no worker group";
}

TEST(RankEnvironment, WithoutTheMembersTheRoleIsKnownByIndexOnly) {
  SpawnWorker order;
  order.worker = {JobId{0}, Incarnation{1}, Rank{2}};
  order.slot = {RoleIndex{0}, 1};
  order.rank = Rank{2};
  order.world_size = 3;
  std::map<std::string, std::string> found = told(order, job_running("true"), {});
  EXPECT_EQ(found["RANK"], "2");
  EXPECT_EQ(found["WORLD_SIZE"], "3");
  EXPECT_EQ(found["LOCAL_RANK"], "2");
  EXPECT_EQ(found["ROLE_RANK"], "1");
  EXPECT_FALSE(found.contains("ROLE_WORLD_SIZE"));
  found = told(order, job_running("true"), members());
  EXPECT_EQ(found["ROLE_WORLD_SIZE"], "2");
}

}  // namespace rank_environment_tests
}  // namespace orrery::runtime
