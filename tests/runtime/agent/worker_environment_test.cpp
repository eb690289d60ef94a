// What worker processes are told of their peers.
#include "runtime/agent/worker_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/agent/run_members.hpp"
#include "tests/runtime/shim/observing.hpp"

namespace orrery::runtime {
namespace worker_environment_tests {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

JobSpec group_job(Topology topology, std::int32_t parallel_workers) {
  JobSpec spec;
  spec.name = "default.pong";
  spec.family = JobFamily::Group;
  spec.topology = topology;
  spec.parallel_workers = parallel_workers;
  spec.roles.emplace_back();
  spec.roles[0].name = "worker";
  return spec;
}

std::vector<WorkerStart> members_of(std::uint32_t count) {
  std::vector<WorkerStart> out;
  for (std::uint32_t i = 0; i < count; ++i)
    out.push_back({Rank{i}, RoleIndex{0}, static_cast<std::int32_t>(i), NodeId{0}, Incarnation{1}});
  return out;
}

SpawnWorker spawn_of(const WorkerStart& worker, std::uint32_t world_size) {
  SpawnWorker out;
  out.worker = {JobId{0}, worker.incarnation, worker.rank};
  out.slot = {worker.role, worker.local_rank};
  out.generation = Generation{1};
  out.rank = worker.rank;
  out.world_size = world_size;
  return out;
}

/// The entries that begin with DI_.
std::vector<std::string> peers_of(const JobSpec& job,
                                  const std::vector<WorkerStart>& members,
                                  std::uint32_t rank) {
  const auto all = environment_of(
      spawn_of(members[rank], static_cast<std::uint32_t>(members.size())), job, members);
  std::vector<std::string> out;
  EXPECT_TRUE(all.has_value());
  for (const std::string& entry : *all)
    if (entry.starts_with("DI_")) out.push_back(entry);
  return out;
}

TEST(WorkerEnvironment, PortsThatTheControllerGaveAreTold) {
  std::vector<WorkerStart> members = members_of(2);
  members[0].first_port = 22300;
  members[1].first_port = 22310;
  EXPECT_THAT(peers_of(group_job(Topology::Star, 2), members, 1),
              ElementsAre("DI_ATTACHED_NODES_ARG=--attach-to=tcp://127.0.0.1:22300",
                          "DI_JOB_GENERATION=1",
                          "DI_JOB_ID=default/pong",
                          "DI_NODE_IDS_ARG=--node-ids=2,3",
                          "DI_PARALLEL_WORKERS_ARG=--parallel-workers=2",
                          "DI_PORTS_ARG=--ports=22310,22311"));
}

TEST(WorkerEnvironment, AllMeetAtTheMasterPortOfRankZero) {
  const JobSpec job = group_job(Topology::Star, 2);
  std::vector<WorkerStart> members = members_of(2);
  members[0].first_port = 22300;
  members[1].first_port = 22310;
  for (const WorkerStart& member : members) {
    const auto all = environment_of(spawn_of(member, 2), job, members);
    ASSERT_TRUE(all.has_value());
    EXPECT_THAT(*all, Contains("MASTER_PORT=22302"));
    EXPECT_THAT(*all, Contains("MASTER_ADDR=127.0.0.1"));
  }
}

TEST(WorkerEnvironment, RestartsAreToldWhereTheyAreKnown) {
  JobSpec job = group_job(Topology::Alone, 1);
  job.backoff_limit = 5;
  const std::vector<WorkerStart> members = members_of(1);
  Surroundings around;
  const auto unknown = environment_of(spawn_of(members[0], 1), job, members, around);
  ASSERT_TRUE(unknown.has_value());
  EXPECT_THAT(*unknown, Not(Contains(StartsWith("TORCHELASTIC_"))));
  around.restarts = 2;
  const auto known = environment_of(spawn_of(members[0], 1), job, members, around);
  ASSERT_TRUE(known.has_value());
  EXPECT_THAT(*known,
              IsSupersetOf({"TORCHELASTIC_RUN_ID=default.pong",
                            "TORCHELASTIC_RESTART_COUNT=2",
                            "TORCHELASTIC_MAX_RESTARTS=5"}));
}

TEST(WorkerEnvironment, WhatARoleSaysOfPeersIsOverruled) {
  JobSpec job = group_job(Topology::Alone, 1);
  job.roles[0].environment = {{"DI_PORTS_ARG", "--ports=80"}, {"DI_OF_THEIR_OWN", "kept"}};
  const std::vector<std::string> told = peers_of(job, members_of(1), 0);
  EXPECT_THAT(told, Contains("DI_PORTS_ARG=--ports=22270"));
  EXPECT_THAT(told, Not(Contains("DI_PORTS_ARG=--ports=80")));
  EXPECT_THAT(told, Contains("DI_OF_THEIR_OWN=kept"));
}

TEST(WorkerEnvironment, NativeJobsAreToldOfNoPeers) {
  JobSpec job = group_job(Topology::Star, 1);
  job.family = JobFamily::Native;
  EXPECT_THAT(peers_of(job, members_of(2), 1), IsEmpty());
}

TEST(WorkerEnvironment, MorePortsThanThereAreIsAnError) {
  const JobSpec job = group_job(Topology::Star, 6000);
  const std::vector<WorkerStart> members = members_of(2);
  const auto refused = environment_of(spawn_of(members[0], 2), job, members);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.errors()[0].text(),
            "needs 6001 ports for each of 2 workers, this machine has 10498; ask for fewer "
            "parallel workers");
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(WorkerEnvironment, ProcessesOfAGroupJobAreToldWhereTheirPeersListen) {
  const Scratch scratch("peers");
  JobSpec job = group_job(Topology::Mesh, 2);
  const std::string told = scratch.path().string() + "/$ORRERY_RANK";
  // As a user would call DI-engine: each variable is one whole option, or nothing.
  job.roles[0].command = {"/bin/sh",
                          "-c",
                          "printf '%s\\n' $DI_JOB_ID $DI_PARALLEL_WORKERS_ARG $DI_PORTS_ARG "
                          "$DI_NODE_IDS_ARG $DI_ATTACHED_NODES_ARG > " +
                              told};
  run_members(job, members_of(3), JobId{0});
  EXPECT_THAT(
      lines_of(scratch.path() / "0"),
      ElementsAre("default/pong", "--parallel-workers=2", "--ports=22270,22271", "--node-ids=0,1"));
  EXPECT_THAT(lines_of(scratch.path() / "1"),
              ElementsAre("default/pong",
                          "--parallel-workers=2",
                          "--ports=22273,22274",
                          "--node-ids=2,3",
                          "--attach-to=tcp://127.0.0.1:22270,tcp://127.0.0.1:22271"));
  EXPECT_THAT(lines_of(scratch.path() / "2"),
              ElementsAre("default/pong",
                          "--parallel-workers=2",
                          "--ports=22276,22277",
                          "--node-ids=4,5",
                          "--attach-to=tcp://127.0.0.1:22270,tcp://127.0.0.1:22271,"
                          "tcp://127.0.0.1:22273,tcp://127.0.0.1:22274"));
}

TEST(WorkerEnvironment, ProcessesOfATasksJobAreToldOfEachOther) {
  const Scratch scratch("tasks");
  JobSpec job = group_job(Topology::Star, 1);
  job.family = JobFamily::Tasks;
  job.roles.emplace_back();
  job.roles[0].name = "learner";
  job.roles[1].name = "data-collector";
  for (RoleSpec& role : job.roles)
    role.command = {"/bin/sh",
                    "-c",
                    "printf '%s\\n' $DI_RANK $DI_NODES $DI_NODE_PORTS $DI_LEARNER_NODES "
                    "$DI_DATA_COLLECTOR_NODES > " +
                        scratch.path().string() + "/$ORRERY_RANK"};
  std::vector<WorkerStart> members = members_of(3);
  members[1].role = members[2].role = RoleIndex{1};
  members[1].local_rank = 0;
  members[2].local_rank = 1;
  run_members(job, members, JobId{0});
  for (const std::string rank : {"0", "1", "2"})
    EXPECT_THAT(lines_of(scratch.path() / rank),
                ElementsAre(rank,
                            "127.0.0.1,127.0.0.1,127.0.0.1",
                            "22270,22272,22274",
                            "127.0.0.1",
                            "127.0.0.1,127.0.0.1"));
}

}  // namespace worker_environment_tests
}  // namespace orrery::runtime
