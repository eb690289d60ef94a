// A policy in a process: what it answers, and what becomes of one that does not.
#include "runtime/planner/process_planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "core/record/codec.hpp"
#include "policies/registry.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::runtime::tests {
namespace {

using orrery::tests::job;
using orrery::tests::JobBuilder;
using orrery::tests::nodes_of;
using testing::HasSubstr;

constexpr Bytes kMemory{300 << 20};

/// Rings when an answer is there.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

class ProcessPlannerTest : public testing::Test {
 protected:
  ProcessPlannerTest() {
    std::string folder = testing::TempDir() + "planted-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    Settings settings;
    settings.policy = "fifo/1";
    step(EpochStarted{Epoch{1}, settings});
    step(NodesDeclared{{nodes_of(2, 4)}});
    submit(job("a").replicas(2));
  }

  ~ProcessPlannerTest() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return folder_ + "/what"; }

  /// What the policy does from now on; empty: as fifo does.
  void plant(const std::string& what) {
    std::filesystem::remove(file());
    if (what.empty()) return;
    std::ofstream(file() + ".new") << what << "\n";
    std::filesystem::rename(file() + ".new", file());
  }

  void make(Duration deadline, std::string program = PLANTED_PLANNER) {
    ProcessPlannerOptions options;
    options.program = {std::move(program)};
    options.policy = {"fifo", {{"file", file()}}, 1};
    options.deadline = deadline;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    options.memory = kMemory;
#endif
    planner_ = std::make_unique<ProcessPlanner>(options, [this] { bell_.ring(); });
  }

  void step(EventBody body) {
    now_ = now_ + Duration::seconds(1);
    const Event event{now_, now_, Origin::External, std::move(body)};
    ByteWriter bytes;
    encode(event, bytes);
    Commands commands;
    controller_.step(event, commands);
    while (controller_.take_plan_request()) continue;
    if (planner_) planner_->stepped(bytes.bytes());
  }

  void submit(const JobBuilder& builder) {
    step(JobSubmitted{0, std::make_shared<JobSpec>(builder.spec())});
  }

  PlanAnswer asked(PlanTrigger trigger = PlanTrigger::Capacity, JobId about = JobId::none()) {
    planner_->ask({controller_.state().sequence, trigger, about}, controller_);
    EXPECT_TRUE(planner_->is_busy());
    bell_.wait();
    std::optional<PlanAnswer> answer = planner_->take(now_);
    EXPECT_FALSE(planner_->is_busy());
    EXPECT_TRUE(answer.has_value());
    return answer ? *answer : PlanAnswer{};
  }

  PlanLost lost() {
    const PlanAnswer answer = asked();
    const auto* loss = std::get_if<PlanLost>(&answer);
    EXPECT_NE(loss, nullptr) << "a plan was proposed";
    return loss == nullptr ? PlanLost{} : *loss;
  }

  Plan planned() {
    const PlanAnswer answer = asked();
    const auto* plan = std::get_if<PlanProposed>(&answer);
    if (plan != nullptr) return plan->plan;
    const auto& loss = std::get<PlanLost>(answer);
    ADD_FAILURE() << to_string(loss.loss) << ": " << loss.detail;
    return {};
  }

  /// What a policy says that looks at the controller's own state.
  Plan expected() {
    const auto policy = std::move(policies::make_policy("fifo")).value();
    Controller copy = controller_;
    InlinePlanner planner(*policy, Duration::zero(), nullptr);
    planner.ask({copy.state().sequence, PlanTrigger::Capacity, JobId::none()}, copy);
    return std::get<PlanProposed>(*planner.take(copy.state().now)).plan;
  }

  std::string folder_;
  Controller controller_;
  Instant now_;
  Bell bell_;
  std::unique_ptr<ProcessPlanner> planner_;
};

constexpr Duration kLong = Duration::seconds(3600);

TEST_F(ProcessPlannerTest, AnswersAsThePolicyDoesOnTheControllersOwnState) {
  make(kLong);
  ASSERT_EQ(planned(), expected());
  ASSERT_EQ(planned().grants.size(), 1u);
  // From here on it follows the records.
  step(PlanProposed{{}, PlanTrigger::Capacity, {}, planned()});
  EXPECT_TRUE(planned().empty());
  for (int i = 0; i < 20; ++i) submit(job("more-" + std::to_string(i)).replicas(1));
  EXPECT_EQ(planned(), expected());
  EXPECT_EQ(planned().grants.size(), 6u);
  const PlanAnswer one = asked(PlanTrigger::Submission, JobId{1});
  EXPECT_EQ(std::get<PlanProposed>(one).job, JobId{1});
}

// The planner's thread may not have seen the question yet.
TEST_F(ProcessPlannerTest, RecordsAfterAQuestionDoNotComeBeforeIt) {
  make(kLong);
  for (int i = 0; i < 200; ++i) {
    const Sequence view = controller_.state().sequence;
    planner_->ask({view, PlanTrigger::Capacity, JobId::none()}, controller_);
    for (int k = 0; k < 3; ++k) submit(job("j" + std::to_string(3 * i + k)).replicas(1));
    bell_.wait();
    const std::optional<PlanAnswer> answer = planner_->take(now_);
    ASSERT_TRUE(answer && std::holds_alternative<PlanProposed>(*answer)) << "question " << i;
    EXPECT_EQ(std::get<PlanProposed>(*answer).view, view);
  }
}

struct Planted {
  const char* what;
  PlanLoss loss;
  const char* detail;
};

TEST_F(ProcessPlannerTest, WhateverThePolicyDoesCostsOnePlan) {
  const Planted all[] = {
    {"throws", PlanLoss::Failed, "planted in a test"},
    {"throws a number", PlanLoss::Failed, "no std::exception"},
    {"exits", PlanLoss::Ended, "exit code 5"},
    {"crashes", PlanLoss::Ended, "killed by signal 11 (Segmentation fault)"},
    {"garbage", PlanLoss::TooLarge, "MiB"},
    {"too long", PlanLoss::TooLarge, "more than 64 MiB"},
    {"truncated", PlanLoss::Ended, "exit code 0"},
    {"closes", PlanLoss::Ended, "closed its connection"},
    {"many grants", PlanLoss::TooLarge, "100000 grants for 1 jobs"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    {"leaks", PlanLoss::Failed, "bad_alloc"},
#endif
  };
  make(kLong);
  const Plan good = expected();
  for (const Planted& each : all) {
    plant(each.what);
    const PlanLost loss = lost();
    EXPECT_EQ(loss.loss, each.loss) << each.what << ": " << loss.detail;
    EXPECT_THAT(loss.detail, HasSubstr(each.detail)) << each.what;
    EXPECT_EQ(loss.view, controller_.state().sequence);
    EXPECT_FALSE(loss.anew);
    step(loss);
    plant("");
    EXPECT_EQ(planned(), good) << "after a policy that " << each.what;
  }
}

TEST_F(ProcessPlannerTest, APolicyThatLoopsOrSleepsIsKilledAtTheDeadline) {
  make(Duration::milliseconds(300));
  for (const char* what : {"loops", "sleeps"}) {
    plant(what);
    const PlanLost loss = lost();
    EXPECT_EQ(loss.loss, PlanLoss::Late) << what;
    EXPECT_EQ(loss.detail, "no answer within 300 ms");
  }
}

TEST_F(ProcessPlannerTest, TheEndDoesNotWaitForAPolicy) {
  make(kLong);
  plant("sleeps");
  planner_->ask({controller_.state().sequence, PlanTrigger::Capacity, JobId::none()}, controller_);
  planner_.reset();  // Otherwise the test would take a day.
}

TEST_F(ProcessPlannerTest, APolicyGoesOnFromWhatItSavedAndAfterFiveLossesAnew) {
  make(kLong);
  plant("counts");
  EXPECT_EQ(planned().grants[0].replicas, 1);
  EXPECT_EQ(planned().grants[0].replicas, 2);
  plant("exits");
  for (std::uint32_t i = 1; i < kLostBeforeAnew; ++i) EXPECT_FALSE(lost().anew);
  plant("counts");
  EXPECT_EQ(planned().grants[0].replicas, 3);
  plant("exits");
  for (std::uint32_t i = 1; i < kLostBeforeAnew; ++i) EXPECT_FALSE(lost().anew);
  EXPECT_TRUE(lost().anew);
  plant("counts");
  EXPECT_EQ(planned().grants[0].replicas, 1);
}

TEST_F(ProcessPlannerTest, NonsenseIsDroppedGrantByGrant) {
  make(kLong);
  for (int i = 0; i < 60; ++i) submit(job("other-" + std::to_string(i)).replicas(1));
  plant("nonsense");
  const Plan plan = planned();
  ASSERT_EQ(plan.grants.size(), 44u);
  const std::int64_t free = controller_.state().ledger.free().free_devices();
  step(PlanProposed{{}, PlanTrigger::Capacity, {}, plan});
  // What is asked for beyond all bounds is clipped to what the two jobs may have; no more is taken.
  EXPECT_EQ(controller_.state().ledger.free().free_devices(), free - 3);
  plant("");
  EXPECT_EQ(planned(), expected());
}

TEST_F(ProcessPlannerTest, AProgramThatIsNotThereIsSaid) {
  make(kLong, "/nowhere/orrery-node");
  const PlanLost loss = lost();
  EXPECT_EQ(loss.loss, PlanLoss::NotStarted);
  EXPECT_THAT(loss.detail, HasSubstr("/nowhere/orrery-node"));
}

}  // namespace
}  // namespace orrery::runtime::tests
