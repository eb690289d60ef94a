// The rules that hold what a leader takes for so against the truth of the processes.
#include "sim/storm/live_check.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/sim/model/world_harness.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::sim {
namespace {

using scenarios::FaultKind;

/// Hears nothing of the cluster: the test tells the check what a leader would.
class Deaf final : public ClusterListener {
 public:
  void on_outside(EventBody) override {}

  void on_workers(JobId,
                  std::span<const ModelWorker>,
                  WorkerFact,
                  std::int32_t,
                  Instant,
                  const Diagnosis&) override {}

  void on_progress(NodeId, ProgressReported) override {}

  void on_suspected(NodeId, WorkerSuspected) override {}

  void on_sub_master(NodeId, const ModelWorker&, SubMasterSaid) override {}

  void on_node_down(NodeId) override {}

  void on_node_up(NodeId) override {}

  void on_devices_lost(DevicesLost) override {}

  void on_devices_back(NodeId) override {}

  void on_node_leaving(NodeLeaving) override {}

  void on_fault(const scenarios::Fault&) override {}

  void on_struck(std::uint32_t) override {}
};

/// Two workers of a job that run on two nodes, as processes and in a leader's state.
class LiveCheckTest : public ::testing::Test {
 protected:
  LiveCheckTest() : leader_({tests::nodes_of(4, 4)}) {}

  void open(std::vector<scenarios::Fault> faults = {}) {
    scenario_ = tests::four_nodes(std::move(faults));
    JobSpec spec = tests::JobBuilder("train").elastic(1, 2).spec();
    spec.failover.edit().hang_after = Duration::seconds(20);
    spec.failover.edit().straggler_factor = 2;
    source_.emplace(std::vector{tests::modelled(spec, 1000)});
    cluster_.emplace(scenario_, *source_, listener_);
    cluster_->pass_to(Instant::zero());
    cluster_->obey(AnswerRequest{1, JobId{0}, true, {}});
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      SpawnWorker action;
      action.worker = {JobId{0}, Incarnation{1}, Rank{rank}};
      action.slot = {RoleIndex{0}, static_cast<std::int32_t>(rank)};
      action.generation = Generation{1};
      action.rank = Rank{rank};
      action.world_size = 2;
      action.devices = 1;
      cluster_->act(NodeId{rank}, action);
    }
    check_.emplace(scenario_, Duration::seconds(20), Duration::seconds(1), found_);
    leader_.step(JobSubmitted{1, std::make_shared<const JobSpec>(spec)});
    Plan plan;
    plan.grant(JobId{0}, 2);
    leader_.plan(plan);
    leader_.settle();
  }

  // Looks each second until then.
  void look_until(std::int64_t second, const State* leader) {
    while (cluster_->now() < tests::at_s(static_cast<double>(second))) {
      cluster_->pass_to(cluster_->now() + Duration::seconds(1));
      check_->look(cluster_->now(), *cluster_, leader);
    }
  }

  void suspect(std::uint32_t rank, Suspicion suspicion) {
    const Instant now = cluster_->now();
    check_->stepped(
        now,
        {now,
         now,
         Origin::External,
         WorkerSuspected{JobId{0}, Generation{1}, Incarnation{1}, Rank{rank}, suspicion}},
        *cluster_);
  }

  const State* leader() const { return &leader_.controller.state(); }

  void expect(const std::string& part) {
    ASSERT_FALSE(found_.empty()) << part;
    EXPECT_NE(found_.kept().front().text.find(part), std::string::npos)
        << found_.kept().front().text;
  }

  Violations found_;
  std::optional<LiveCheck> check_;

 private:
  Deaf listener_;
  tests::ControllerHarness leader_;
  scenarios::Scenario scenario_;
  std::optional<tests::ListedJobs> source_;
  std::optional<SimulatedCluster> cluster_;
};

TEST_F(LiveCheckTest, ProcessesThatTheLeaderKnowsLiveOn) {
  open();
  look_until(200, leader());
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

TEST_F(LiveCheckTest, AProcessOfWhichNobodyKnowsEnds) {
  open();
  const State nobody;
  look_until(30, &nobody);
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  look_until(32, &nobody);
  expect("worker 0 of incarnation 1 of job 0 lives on");
}

TEST_F(LiveCheckTest, WithoutALeaderNobodyCanKnow) {
  open();
  look_until(200, nullptr);
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

// 20 s as its job asks, a lease of 10 s, a second of lateness and ten to spare, from second 5 on.
TEST_F(LiveCheckTest, AWorkerThatHangsIsSuspected) {
  open({tests::worker_fault(5, FaultKind::Hang, 1)});
  look_until(45, leader());
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  look_until(50, leader());
  expect("worker 1 of incarnation 1 of job 0 has hung");
}

TEST_F(LiveCheckTest, OneThatIsSuspectedWasNoticed) {
  open({tests::worker_fault(5, FaultKind::Hang, 1)});
  look_until(30, leader());
  suspect(1, Suspicion::Hung);
  look_until(100, leader());
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

TEST_F(LiveCheckTest, WhereLeadersAreDisturbedAHangMayGoUnnoticed) {
  open({tests::worker_fault(5, FaultKind::Hang, 1),
        tests::fault_at(300, FaultKind::ControllerCrash)});
  look_until(100, leader());
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

TEST_F(LiveCheckTest, WhoIsSuspectedOfBeingSlowIs) {
  scenarios::Fault slow = tests::worker_fault(5, FaultKind::Slow, 1);
  slow.factor = 4;
  open({slow});
  look_until(10, leader());
  suspect(1, Suspicion::Straggling);
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  suspect(0, Suspicion::Straggling);
  expect("worker 0 of incarnation 1 of job 0 is suspected of being slow, it never was");
}

}  // namespace
}  // namespace orrery::sim
