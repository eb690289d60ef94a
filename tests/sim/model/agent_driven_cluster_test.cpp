// The simulated cluster as agents use it: single processes, memberships told one by one, and old
// starts that live on beside their successors.
#include <gmock/gmock.h>

#include "tests/sim/model/world_harness.hpp"

namespace orrery::tests {
namespace {

using scenarios::FaultKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Writes down what the cluster tells.
class Listener : public sim::ClusterListener {
 public:
  struct Told {
    WorkerFact fact;
    NodeId node;
    std::int32_t exit_code;
  };

  void on_outside(EventBody body) override { outside.push_back(std::move(body)); }

  void on_workers(JobId,
                  std::span<const sim::ModelWorker> workers,
                  WorkerFact fact,
                  std::int32_t exit_code,
                  Instant,
                  const Diagnosis&) override {
    for (const sim::ModelWorker& worker : workers) told.push_back({fact, worker.node, exit_code});
  }

  void on_progress(NodeId from, ProgressReported) override { progress_from.push_back(from); }

  void on_suspected(NodeId, WorkerSuspected) override {}

  void on_sub_master(NodeId, const sim::ModelWorker&, SubMasterSaid) override {}

  void on_node_down(NodeId node) override { down.push_back(node); }

  void on_node_up(NodeId) override {}

  void on_devices_lost(DevicesLost) override {}

  void on_devices_back(NodeId) override {}

  void on_node_leaving(NodeLeaving) override {}

  void on_fault(const scenarios::Fault& fault) override { faults.push_back(fault.kind); }

  void on_struck(std::uint32_t index) override { struck.push_back(index); }

  std::vector<EventBody> outside;
  std::vector<Told> told;
  std::vector<NodeId> progress_from;
  std::vector<NodeId> down;
  std::vector<FaultKind> faults;
  std::vector<std::uint32_t> struck;
};

class AgentDrivenCluster : public testing::Test {
 protected:
  void open(std::int32_t replicas,
            std::vector<scenarios::Fault> faults = {},
            Duration checkpoint_interval = Duration::zero()) {
    scenario_ = four_nodes(std::move(faults));
    scenario_.timing.checkpoint_interval = checkpoint_interval;
    scenario_.timing.start = Duration::seconds(1);
    scenario_.timing.stop = Duration::seconds(1);
    const JobSpec spec = job("train").elastic(1, replicas).spec();
    source_.emplace(std::vector{modelled(spec, 1000)});
    cluster_.emplace(scenario_, *source_, listener_);
    cluster().pass_to(Instant::zero());
    cluster().obey(AnswerRequest{1, JobId{0}, true, {}});
  }

  sim::SimulatedCluster& cluster() { return *cluster_; }

  static WorkerName name(std::uint32_t incarnation, std::uint32_t birth_rank) {
    return {JobId{0}, Incarnation{incarnation}, Rank{birth_rank}};
  }

  void spawn(std::uint32_t node,
             std::uint32_t number,
             std::uint32_t rank,
             std::uint32_t world_size) {
    SpawnWorker action;
    action.worker = name(number, rank);
    action.slot = {RoleIndex{0}, static_cast<std::int32_t>(rank)};
    action.generation = Generation{number};
    action.rank = Rank{rank};
    action.world_size = world_size;
    action.devices = 1;
    cluster().act(NodeId{node}, action);
  }

  void signal(std::uint32_t node,
              std::uint32_t incarnation,
              std::uint32_t rank,
              WorkerSignal signal) {
    cluster().act(NodeId{node}, SignalWorker{name(incarnation, rank), signal});
  }

  void tell(std::uint32_t node,
            std::uint32_t incarnation,
            std::uint32_t rank,
            std::uint32_t generation,
            std::uint32_t world_size) {
    cluster().act(
        NodeId{node},
        TellMembership{name(incarnation, rank), Generation{generation}, Rank{rank}, world_size});
  }

  void pass_to(double seconds) { cluster().pass_to(at_s(seconds)); }

  double done() { return cluster().job(JobId{0})->done_at(cluster().now()); }

  Listener listener_;

 private:
  scenarios::Scenario scenario_;
  std::optional<ListedJobs> source_;
  std::optional<sim::SimulatedCluster> cluster_;
};

TEST_F(AgentDrivenCluster, WorkBeginsWhenTheWholeGenerationIsReady) {
  open(2);
  spawn(0, 1, 0, 2);
  pass_to(5);
  EXPECT_EQ(done(), 0) << "one of two is there";
  spawn(1, 1, 1, 2);
  pass_to(16);
  EXPECT_EQ(done(), 20);
  EXPECT_THAT(listener_.progress_from, ElementsAre(NodeId{0}));
}

TEST_F(AgentDrivenCluster, AWorkerThatIsNotifiedOfANewMembershipWorksOnInIt) {
  open(2);
  spawn(0, 1, 0, 1);
  pass_to(11);
  EXPECT_EQ(done(), 10);
  spawn(1, 2, 1, 2);
  pass_to(11.5);
  EXPECT_EQ(done(), 10) << "no working worker knows the newest membership";
  tell(0, 1, 0, 2, 2);
  pass_to(12);
  EXPECT_EQ(done(), 10.5);
  pass_to(22);
  EXPECT_EQ(done(), 30.5);
}

TEST_F(AgentDrivenCluster, AnOldStartBesideItsSuccessorMakesNoProgress) {
  open(2);
  spawn(0, 1, 0, 2);
  spawn(1, 1, 1, 2);
  pass_to(11);
  EXPECT_EQ(done(), 20);
  // Rank 1's node is cut off: its successor starts elsewhere, rank 0 stays.
  spawn(2, 2, 1, 2);
  tell(0, 1, 0, 2, 2);
  pass_to(12);
  EXPECT_EQ(done(), 21);
  EXPECT_THAT(cluster().living(), SizeIs(3));
  pass_to(22);
  EXPECT_EQ(done(), 41) << "two replicas, not three";
  // The agent of the cut-off node fences.
  signal(1, 1, 1, WorkerSignal::Kill);
  EXPECT_EQ(cluster().job(JobId{0})->lost, 0);
  pass_to(32);
  EXPECT_EQ(done(), 61);
  EXPECT_THAT(cluster().living(), SizeIs(2));
}

TEST_F(AgentDrivenCluster, AFullyNewGenerationWaitsForAllOfItsOwn) {
  open(2);
  spawn(0, 1, 0, 2);
  spawn(1, 1, 1, 2);
  pass_to(11);
  spawn(2, 2, 0, 2);
  pass_to(15);
  EXPECT_EQ(done(), 20);
  spawn(3, 2, 1, 2);
  pass_to(16);
  EXPECT_EQ(done(), 20);
  pass_to(26);
  EXPECT_EQ(done(), 40);
}

TEST_F(AgentDrivenCluster, AWorkerThatStartsAnewAfterTheWorkIsDoneEndsAtOnce) {
  open(2);
  spawn(0, 1, 0, 2);
  spawn(1, 1, 1, 2);
  pass_to(501);
  EXPECT_THAT(cluster().living(), IsEmpty());
  // The end of rank 1 was never heard: it starts again, beside one that has done its part.
  spawn(1, 2, 1, 2);
  pass_to(502);
  ASSERT_THAT(listener_.told, SizeIs(6));
  EXPECT_EQ(listener_.told[5].fact, WorkerFact::Exited);
  EXPECT_EQ(listener_.told[5].exit_code, 0);
}

TEST_F(AgentDrivenCluster, AStaleMembershipChangesNothing) {
  open(1);
  spawn(0, 2, 0, 1);
  pass_to(5);
  tell(0, 2, 0, 1, 3);
  EXPECT_EQ(cluster().job(JobId{0})->generation, Generation{2});
  EXPECT_EQ(cluster().job(JobId{0})->world_size, 1u);
}

TEST_F(AgentDrivenCluster, SignalsEndSingleProcesses) {
  open(2);
  spawn(0, 1, 0, 2);
  spawn(1, 1, 1, 2);
  pass_to(10);
  signal(0, 1, 0, WorkerSignal::Ask);
  pass_to(10.5);
  EXPECT_THAT(cluster().living(), SizeIs(2));
  pass_to(11);
  ASSERT_THAT(listener_.told, SizeIs(3));
  EXPECT_EQ(listener_.told[2].exit_code, 143);
  signal(1, 1, 1, WorkerSignal::Kill);
  ASSERT_THAT(listener_.told, SizeIs(4));
  EXPECT_EQ(listener_.told[3].exit_code, 137);
  EXPECT_EQ(listener_.told[3].node, NodeId{1});
  EXPECT_THAT(cluster().living(), IsEmpty());
}

TEST_F(AgentDrivenCluster, WhoHangsDoesNotHearThatItIsAsked) {
  open(1, {worker_fault(5, FaultKind::Hang)});
  spawn(0, 1, 0, 1);
  pass_to(10);
  signal(0, 1, 0, WorkerSignal::Ask);
  pass_to(60);
  EXPECT_THAT(cluster().living(), SizeIs(1));
  signal(0, 1, 0, WorkerSignal::Kill);
  EXPECT_THAT(cluster().living(), IsEmpty());
}

TEST_F(AgentDrivenCluster, WhatAHungWorkerCouldNotSaveIsLostWithItsKill) {
  open(2, {worker_fault(21, FaultKind::Hang)}, Duration::seconds(8));
  spawn(0, 1, 0, 2);
  spawn(1, 1, 1, 2);
  pass_to(30);
  ASSERT_EQ(done(), 40) << "20 s with two replicas";
  signal(0, 1, 0, WorkerSignal::Ask);
  EXPECT_EQ(done(), 40);
  signal(0, 1, 0, WorkerSignal::Kill);
  EXPECT_EQ(done(), 32) << "the checkpoints after 8 s and 16 s";
  EXPECT_EQ(cluster().job(JobId{0})->lost, 8);
}

TEST_F(AgentDrivenCluster, AProcessOfAJobThatIsOverIsNotCreated) {
  open(1);
  cluster().obey(CleanJob{JobId{0}, CleanPodPolicy::Running});
  spawn(0, 1, 0, 1);
  ASSERT_THAT(listener_.told, SizeIs(1));
  EXPECT_EQ(listener_.told[0].fact, WorkerFact::LaunchFailed);
}

TEST_F(AgentDrivenCluster, ANodeDiesWithAllItRunsAndIsBuriedByItsListener) {
  open(2, {node_fault(5, FaultKind::Down, 1)});
  spawn(0, 1, 0, 2);
  spawn(1, 1, 1, 2);
  pass_to(5);
  EXPECT_THAT(listener_.down, ElementsAre(NodeId{1}));
  EXPECT_THAT(cluster().living(), SizeIs(1));
  EXPECT_THAT(cluster().complete_list(NodeId{1}), IsEmpty());
  cluster().forget(NodeId{1});
  EXPECT_THAT(cluster().job(JobId{0})->workers, SizeIs(1));
}

TEST_F(AgentDrivenCluster, FaultsOfMessagesAreHandedOn) {
  open(1, {node_fault(5, FaultKind::LinkCut), fault_at(6, FaultKind::ControllerCrash)});
  pass_to(10);
  EXPECT_THAT(listener_.faults, ElementsAre(FaultKind::LinkCut, FaultKind::ControllerCrash));
  EXPECT_THAT(listener_.struck, ElementsAre(0u, 1u));
}

}  // namespace
}  // namespace orrery::tests
