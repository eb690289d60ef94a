// What happens to workers when their node is cut off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/agent/stub_controller.hpp"

namespace orrery::runtime {
namespace lease_tests {

constexpr JobId kJob{7};

class NodeLeaseTest : public AgentTest {
 protected:
  void SetUp() override {
    controller_.settings_.node_lease = Duration::seconds(4);
    controller_.settings_.fence_margin = Duration::seconds(2);
    AgentTest::SetUp();
    ASSERT_TRUE(controller_.until_welcomed());
    RoleSpec witness = role_of("");
    witness.command = {ORRERY_WORKER_IN_TEST, "witness", "witness"};
    controller_.start_job(kJob, witness, 1, Incarnation{1});
    ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
    ASSERT_TRUE(eventually([&] { return last_word().ns > 0; }));
  }

  Instant last_word() const {
    const std::string text = text_of_file(agent_.folder_of("7-1-0/work") + "/witness");
    return text.size() == 20 ? Instant{std::stoll(text)} : Instant{};
  }

  /// When the controller may place the workers anew: a lease after the last beat that it answered.
  Instant controllers_deadline() {
    Instant until;
    controller_.set([&](StubController& c) {
      c.renews_ = false;
      until = c.beats_.back().sent_at + c.settings_.node_lease;
    });
    return until;
  }

  void expect_fenced_before(Instant deadline) {
    const WorkerProcesses processes = agent_.processes("7-1-0");
    EXPECT_TRUE(eventually([&] { return !is_alive(processes.worker); }));
    const Duration spare = deadline - last_word();
    RecordProperty("spare_ms", static_cast<int>(spare.ns / 1'000'000));
    EXPECT_GT(spare, Duration::zero());
  }

  void expect_lease_is_told() {
    EXPECT_TRUE(controller_.until([](const StubController& c) { return !c.notices_.empty(); }));
    controller_.set([](const StubController& c) {
      EXPECT_EQ(c.notices_[0].sentence, "the lease of its node ran out, so it was killed there");
    });
  }
};

// The controller was told nothing of it, and said that somebody had deleted the worker.
TEST_F(NodeLeaseTest, AnAgentWithoutAnswersFencesItselfAndSaysSo) {
  expect_fenced_before(controllers_deadline());
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Lost));
  expect_lease_is_told();
}

TEST_F(NodeLeaseTest, ShimsFenceWhereTheAgentIsStopped) {
  agent_.signal(SIGSTOP);
  expect_fenced_before(controllers_deadline());
  agent_.signal(SIGCONT);
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Lost));
  expect_lease_is_told();
}

TEST_F(NodeLeaseTest, ShimsFenceWhereTheAgentIsDead) {
  agent_.kill(SIGKILL);
  expect_fenced_before(controllers_deadline());
  agent_.start();
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Lost));
}

TEST_F(NodeLeaseTest, ANodeThatIsHeardAgainWorks) {
  expect_fenced_before(controllers_deadline());
  controller_.set([](StubController& c) { c.renews_ = true; });
  const std::size_t before = [&] {
    std::size_t count = 0;
    controller_.set([&](const StubController& c) { count = c.beats_.size(); });
    return count;
  }();
  EXPECT_TRUE(
      controller_.until([&](const StubController& c) { return c.beats_.size() > before + 1; }));
  controller_.start_job(kJob, role_of("exit 0"), 1, Incarnation{2});
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
}

}  // namespace lease_tests
}  // namespace orrery::runtime
