#include "core/discovery/di_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "core/base/random.hpp"
#include "core/cluster/port_ledger.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;

/// One task of a job: its name and how many workers it has.
struct Task {
  std::string name;
  std::int32_t replicas = 1;
};

DiMembership tasks_job(const std::vector<Task>& tasks) {
  DiMembership out;
  out.job = "rl.dqn";
  out.generation = Generation{1};
  out.domain = "svc.cluster.local";
  for (const Task& task : tasks) {
    const RoleIndex role{static_cast<std::uint16_t>(out.roles.size())};
    out.roles.push_back(task.name);
    for (std::int32_t i = 0; i < task.replicas; ++i) out.workers.push_back({role, i, {}, 0});
  }
  EXPECT_TRUE(give_missing_ports(out));
  return out;
}

DiMembership group_job(Topology topology, std::int32_t parallel, std::int32_t replicas) {
  DiMembership out;
  out.job = "rl.dqn";
  out.family = JobFamily::Group;
  out.generation = Generation{2};
  out.domain = "svc.cluster.local";
  out.topology = topology;
  out.parallel_workers = parallel;
  out.roles = {"worker"};
  for (std::int32_t i = 0; i < replicas; ++i) out.workers.push_back({RoleIndex{0}, i, {}, 0});
  EXPECT_TRUE(give_missing_ports(out));
  return out;
}

std::vector<std::string> lines_of(const DiMembership& membership, std::uint32_t rank) {
  std::vector<std::string> out;
  for (const KeyValue& entry : di_environment(membership, Rank{rank}))
    out.push_back(entry.key + "=" + entry.value);
  return out;
}

std::string value_of(const DiMembership& membership, std::uint32_t rank, std::string_view key) {
  for (const KeyValue& entry : di_environment(membership, Rank{rank}))
    if (entry.key == key) return entry.value;
  ADD_FAILURE() << "no variable " << key;
  return {};
}

/// The entries of "a,b" or of "--option=a,b"; none of an empty text.
std::vector<std::string> entries_of(const std::string& list) {
  std::istringstream in(list.substr(list.find('=') + 1));
  std::vector<std::string> out;
  for (std::string entry; std::getline(in, entry, ',');) out.push_back(entry);
  return out;
}

std::size_t total(const DiMembership& membership, std::string_view key) {
  std::size_t out = 0;
  for (std::uint32_t rank = 0; rank < membership.workers.size(); ++rank)
    out += entries_of(value_of(membership, rank, key)).size();
  return out;
}

// The upstream test "envs".
TEST(DiEnvironment, EveryTaskIsToldOfEveryNode) {
  EXPECT_EQ(total(tasks_job({{"learner", 1}, {"collector", 1}, {"evaluator", 1}}), "DI_NODES"), 9);
  EXPECT_EQ(total(tasks_job({{"learner", 1}, {"collector", 2}, {"evaluator", 1}}), "DI_NODES"), 16);
  EXPECT_EQ(total(tasks_job({{"learner", 2}, {"collector", 3}, {"none", 1}}), "DI_NODES"), 36);
}

// The upstream test "topology times parallelWorkers".
TEST(DiEnvironment, TheAttachListsHaveTheLengthsOfTheTopology) {
  for (const std::int32_t parallel : {1, 2, 3, 4}) {
    for (const std::int32_t r : {1, 2, 3, 4, 5}) {
      SCOPED_TRACE("P " + std::to_string(parallel) + ", R " + std::to_string(r));
      const auto attached = [&](Topology topology) {
        return static_cast<std::int32_t>(
            total(group_job(topology, parallel, r), "DI_ATTACHED_NODES_ARG"));
      };
      EXPECT_EQ(attached(Topology::Alone), 0);
      EXPECT_EQ(attached(Topology::Star), r - 1);
      EXPECT_EQ(attached(Topology::Mesh), parallel * r * (r - 1) / 2);
    }
  }
}

TEST(DiEnvironment, ATaskJobWrittenOut) {
  DiMembership job = tasks_job({{"learner", 1}, {"collector", 2}, {"eval-fast", 1}});
  job.server_url = "http://di-server.di-system.svc.cluster.local:8081";
  EXPECT_THAT(lines_of(job, 2),
              ElementsAre("DI_JOB_ID=rl/dqn",
                          "DI_JOB_GENERATION=1",
                          "DI_SERVER_URL=http://di-server.di-system.svc.cluster.local:8081",
                          "DI_RANK=2",
                          "DI_NODES=dqn-learner-0.di-dqn.rl.svc.cluster.local,"
                          "dqn-collector-0.di-dqn.rl.svc.cluster.local,"
                          "dqn-collector-1.di-dqn.rl.svc.cluster.local,"
                          "dqn-eval-fast-0.di-dqn.rl.svc.cluster.local",
                          "DI_NODE_PORTS=22270,22270,22270,22270",
                          "DI_LEARNER_NODES=dqn-learner-0.di-dqn.rl.svc.cluster.local",
                          "DI_COLLECTOR_NODES=dqn-collector-0.di-dqn.rl.svc.cluster.local,"
                          "dqn-collector-1.di-dqn.rl.svc.cluster.local",
                          "DI_EVAL_FAST_NODES=dqn-eval-fast-0.di-dqn.rl.svc.cluster.local"));
}

TEST(DiEnvironment, AMeshOfPodsWrittenOut) {
  const DiMembership job = group_job(Topology::Mesh, 2, 3);
  EXPECT_THAT(lines_of(job, 0),
              ElementsAre("DI_JOB_ID=rl/dqn",
                          "DI_JOB_GENERATION=2",
                          "DI_PARALLEL_WORKERS_ARG=--parallel-workers=2",
                          "DI_PORTS_ARG=--ports=22270,22271",
                          "DI_NODE_IDS_ARG=--node-ids=0,1",
                          "DI_ATTACHED_NODES_ARG="));
  EXPECT_THAT(lines_of(job, 2),
              ElementsAre("DI_JOB_ID=rl/dqn",
                          "DI_JOB_GENERATION=2",
                          "DI_PARALLEL_WORKERS_ARG=--parallel-workers=2",
                          "DI_PORTS_ARG=--ports=22270,22271",
                          "DI_NODE_IDS_ARG=--node-ids=4,5",
                          "DI_ATTACHED_NODES_ARG=--attach-to="
                          "tcp://dqn-2-0.di-dqn.rl.svc.cluster.local:22270,"
                          "tcp://dqn-2-0.di-dqn.rl.svc.cluster.local:22271,"
                          "tcp://dqn-2-1.di-dqn.rl.svc.cluster.local:22270,"
                          "tcp://dqn-2-1.di-dqn.rl.svc.cluster.local:22271"));
}

TEST(DiEnvironment, AStarOnSharedHostsWrittenOut) {
  DiMembership job = group_job(Topology::Star, 2, 3);
  job.domain.clear();
  const std::vector<std::string> hosts{"10.0.0.1", "10.0.0.1", "[fd00::2]"};
  for (std::size_t i = 0; i < 3; ++i)
    job.workers[i] = {RoleIndex{0}, static_cast<int>(i), hosts[i], 0};
  job.workers[1].first_port = 22271;  // Given by a ledger: another job holds 22270.
  ASSERT_TRUE(give_missing_ports(job));
  EXPECT_EQ(value_of(job, 0, "DI_PORTS_ARG"), "--ports=22274,22275");
  EXPECT_EQ(value_of(job, 1, "DI_PORTS_ARG"), "--ports=22271,22272");
  EXPECT_EQ(value_of(job, 2, "DI_PORTS_ARG"), "--ports=22270,22271");
  EXPECT_EQ(value_of(job, 0, "DI_ATTACHED_NODES_ARG"), "");
  EXPECT_EQ(value_of(job, 1, "DI_ATTACHED_NODES_ARG"), "--attach-to=tcp://10.0.0.1:22274");
  EXPECT_EQ(value_of(job, 2, "DI_ATTACHED_NODES_ARG"), "--attach-to=tcp://10.0.0.1:22274");
}

TEST(DiEnvironment, WorkersOnAddressesAreNamedByThem) {
  DiMembership job = tasks_job({{"learner", 1}, {"collector", 2}});
  job.domain.clear();
  for (DiWorker& worker : job.workers) worker = {worker.role, worker.local_rank, "127.0.0.1", 0};
  ASSERT_TRUE(give_missing_ports(job));
  EXPECT_EQ(value_of(job, 0, "DI_NODES"), "127.0.0.1,127.0.0.1,127.0.0.1");
  EXPECT_EQ(value_of(job, 0, "DI_NODE_PORTS"), "22270,22272,22274");
  EXPECT_EQ(value_of(job, 0, "DI_COLLECTOR_NODES"), "127.0.0.1,127.0.0.1");
}

// Upstream lists all tasks of the same type under the name of the worker's own task.
TEST(DiEnvironment, ListsAreFilteredByTheNameTheyBear) {
  const DiMembership job = tasks_job({{"actor", 2}, {"reward-model", 1}});  // Both of type none.
  for (const std::uint32_t rank : {0U, 2U}) {
    EXPECT_EQ(entries_of(value_of(job, rank, "DI_ACTOR_NODES")).size(), 2);
    EXPECT_THAT(entries_of(value_of(job, rank, "DI_REWARD_MODEL_NODES")),
                ElementsAre("dqn-reward-model-0.di-dqn.rl.svc.cluster.local"));
  }
}

TEST(DiEnvironment, OtherFamiliesHaveNoVariables) {
  DiMembership job = tasks_job({{"learner", 1}});
  job.family = JobFamily::Native;
  EXPECT_TRUE(di_environment(job, Rank{0}).empty());
}

TEST(DiEnvironment, AHostWithTooFewPortsIsRefused) {
  DiMembership job = group_job(Topology::Alone, kPortsPerNode / 2 - 1, 2);
  EXPECT_EQ(job.workers[1].first_port, kPortFirst) << "pods of their own";
  job.domain.clear();
  for (DiWorker& worker : job.workers) worker.first_port = 0;
  EXPECT_TRUE(give_missing_ports(job));
  job.workers.push_back({RoleIndex{0}, 2, {}, 0});
  EXPECT_FALSE(give_missing_ports(job));
  EXPECT_EQ(job.workers[2].first_port, 0);
}

TEST(DiEnvironment, TheSpecificationTellsShapeAndFamily) {
  JobSpec spec;
  spec.name = "rl.dqn";
  spec.family = JobFamily::Group;
  spec.topology = Topology::Mesh;
  spec.parallel_workers = 3;
  spec.roles.items().resize(2);
  spec.roles[0].name = "a";
  spec.roles[1].name = "b";
  const DiMembership membership = membership_of(spec);
  EXPECT_EQ(membership.job, "rl.dqn");
  EXPECT_EQ(membership.family, JobFamily::Group);
  EXPECT_EQ(membership.topology, Topology::Mesh);
  EXPECT_EQ(membership.parallel_workers, 3);
  EXPECT_THAT(membership.roles, ElementsAre("a", "b"));
  EXPECT_TRUE(membership.workers.empty());
}

/// Everywhere the addresses at which a worker listens.
std::vector<std::string> listening(const DiMembership& job, std::uint32_t rank) {
  std::vector<std::string> out;
  for (const std::string& port : entries_of(value_of(job, rank, "DI_PORTS_ARG")))
    out.push_back("tcp://" + host_of(job, Rank{rank}) + ":" + port);
  return out;
}

DiMembership random_group(Random& random) {
  const auto pick = [&](std::uint64_t count) {
    return static_cast<std::int32_t>(random.below(count));
  };
  DiMembership out = group_job(static_cast<Topology>(pick(3)), 1 + pick(4), 1 + pick(9));
  if (random.chance(0.3)) return out;
  out.domain.clear();
  for (DiWorker& worker : out.workers) {
    worker.host = "10.0.0." + std::to_string(pick(3));
    worker.first_port = 0;
  }
  EXPECT_TRUE(give_missing_ports(out));
  return out;
}

TEST(DiEnvironment, RandomGroupsListenApartAndConnectAsTheirTopologySays) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "groups");
    const DiMembership job = random_group(random);
    std::map<std::string, std::uint32_t> listener;  // Rank by URL.
    std::set<std::string> ids;
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
      for (const std::string& each : listening(job, rank))
        EXPECT_TRUE(listener.emplace(each, rank).second) << each << " is taken twice";
      for (const std::string& id : entries_of(value_of(job, rank, "DI_NODE_IDS_ARG")))
        ids.insert(id);
    }
    const std::size_t processes =
        job.workers.size() * static_cast<std::size_t>(job.parallel_workers);
    EXPECT_EQ(listener.size(), processes);
    EXPECT_EQ(ids.size(), processes);
    EXPECT_TRUE(ids.contains(std::to_string(processes - 1))) << "ids are 0 to N - 1";
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
      const std::vector<std::string> peers =
          entries_of(value_of(job, rank, "DI_ATTACHED_NODES_ARG"));
      for (const std::string& peer : peers) {
        ASSERT_TRUE(listener.contains(peer)) << peer << ": no worker listens there";
        EXPECT_LT(listener.at(peer), rank);
      }
      const std::set<std::string> distinct(peers.begin(), peers.end());
      EXPECT_EQ(distinct.size(), peers.size());
      const auto below = static_cast<std::size_t>(
          std::count_if(listener.begin(), listener.end(), [&](const auto& entry) {
            return entry.second < rank;
          }));
      const std::size_t one = rank == 0 ? 0 : 1;
      EXPECT_EQ(peers.size(),
                job.topology == Topology::Mesh   ? below
                : job.topology == Topology::Star ? one
                                                 : 0);
    }
  }
}

}  // namespace
}  // namespace orrery
