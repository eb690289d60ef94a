// A policy that fails in a simulator: it costs one plan, and is asked again, less and less often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/control/status.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/minimum_policy.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;

/// Jobs come when told; workers start and never end.
class QuietWorld final : public World {
 public:
  Instant now() const override { return now_; }

  void issue(const Command& command) override {
    if (std::holds_alternative<StartWorkers>(command.body)) ++starts;
  }

  bool wait_events(Instant deadline, std::vector<Event>& events) override {
    if (!submissions.empty() && submissions.front().first <= deadline) {
      now_ = std::max(now_, submissions.front().first);
      events.push_back({now_, now_, Origin::External, submissions.front().second});
      submissions.erase(submissions.begin());
      return true;
    }
    if (!deadline.is_never()) now_ = std::max(now_, deadline);
    return !submissions.empty();
  }

  void submit(std::int64_t second, const JobBuilder& job) {
    submissions.emplace_back(Instant::zero() + Duration::seconds(second),
                             JobSubmitted{0, std::make_shared<JobSpec>(job.spec())});
  }

  std::vector<std::pair<Instant, EventBody>> submissions;
  int starts = 0;

 private:
  Instant now_;
};

/// Fails while it is told to; counts the answers that it has given, and says so in what it saves.
class FailingPolicy final : public Policy {
 public:
  enum class Does : std::uint8_t { AsItShould, Throws, Loops, AsksTooMuch };

  std::string_view name() const override { return "failing/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    misbehave(view);
    return grant(job.row.id, job.row.min_replicas);
  }

  Plan optimize(const ClusterView& view) override {
    ++answers;
    seen_complete = view.touched_complete();
    misbehave(view);
    Plan plan;
    view.waiting().for_each([&](const WaitEntry& entry) {
      plan.grant(entry.job, view.row(entry.job).min_replicas);
      return true;
    });
    if (does == Does::AsksTooMuch) plan.grants.resize(1000);
    return plan;
  }

  void save(ByteWriter& out) const override { out.varint(answers); }

  void load(ByteReader& in) override { answers = in.varint(); }

  Does does = Does::AsItShould;
  std::uint64_t answers = 0;
  bool seen_complete = false;

 private:
  void misbehave(const ClusterView& view) {
    if (does == Does::Throws) throw std::runtime_error("planted in a test");
    while (does == Does::Loops) devices_ += view.devices_usable();
  }

  std::int64_t devices_ = 0;
};

using Does = FailingPolicy::Does;

/// Keeps lost plans and when they were.
class LossWatcher final : public RunObserver {
 public:
  void on_notices(std::span<const Notice> notices, const State&) override {
    for (const Notice& notice : notices) told += notice.kind == NoticeKind::PlanLost ? 1 : 0;
  }

  void on_event(Sequence, const Event& event) override {
    if (const auto* lost = std::get_if<PlanLost>(&event.body)) {
      losses.push_back(*lost);
      seconds.push_back(static_cast<std::int64_t>(event.at.in_seconds()));
    }
    if (on_loss && std::holds_alternative<PlanLost>(event.body)) on_loss();
  }

  std::vector<PlanLost> losses;
  std::vector<std::int64_t> seconds;
  int told = 0;
  std::function<void()> on_loss;
};

class LostPlans : public testing::Test {
 protected:
  LostPlans() {
    Settings settings;
    settings.policy = "failing/1";
    EXPECT_TRUE(driver_.apply({{{}, {}, Origin::External, EpochStarted{Epoch{1}, settings}},
                               {{}, {}, Origin::External, NodesDeclared{{nodes_of(1, 4)}}}}));
  }

  RunEnd run_to(std::int64_t second) {
    return driver_.run(Instant::zero() + Duration::seconds(second));
  }

  Controller controller_;
  QuietWorld world_;
  FailingPolicy policy_;
  InlinePlanner planner_{policy_, Duration::zero(), nullptr, {nullptr, 10'000}};
  LossWatcher watcher_;
  MemoryStore memory_;
  Driver driver_{controller_, world_, memory_, planner_, &watcher_, {}};
};

TEST_F(LostPlans, APolicyThatThrowsLosesAPlanAndIsAskedAgain) {
  policy_.does = Does::Throws;
  watcher_.on_loss = [this] { policy_.does = Does::AsItShould; };
  world_.submit(5, job("a"));
  run_to(60);
  ASSERT_EQ(watcher_.losses.size(), 1u);
  EXPECT_EQ(watcher_.losses[0].loss, PlanLoss::Failed);
  EXPECT_EQ(watcher_.losses[0].detail, "planted in a test");
  EXPECT_EQ(watcher_.losses[0].trigger, PlanTrigger::Submission);
  EXPECT_EQ(watcher_.losses[0].job, JobId{0});
  EXPECT_EQ(watcher_.told, 1);
  EXPECT_EQ(world_.starts, 1);
  EXPECT_EQ(controller_.state().job(JobId{0}).started_at, Instant::zero() + Duration::seconds(6));
}

TEST_F(LostPlans, APolicyThatLoopsOverItsViewIsStopped) {
  policy_.does = Does::Loops;
  world_.submit(5, job("a"));
  run_to(6);
  ASSERT_FALSE(watcher_.losses.empty());
  EXPECT_EQ(watcher_.losses[0].loss, PlanLoss::OutOfSteps);
  EXPECT_EQ(watcher_.losses[0].detail, "after 10000 steps");
}

TEST_F(LostPlans, MoreGrantsThanJobsAreNotLookedAt) {
  policy_.does = Does::Throws;
  watcher_.on_loss = [this] { policy_.does = Does::AsksTooMuch; };
  world_.submit(5, job("a"));
  run_to(6);
  ASSERT_EQ(watcher_.losses.size(), 2u);
  EXPECT_EQ(watcher_.losses[1].loss, PlanLoss::TooLarge);
  EXPECT_EQ(watcher_.losses[1].detail, "1000 grants for 1 jobs");
  EXPECT_EQ(world_.starts, 0);
}

TEST_F(LostPlans, WhatRunsIsKeptAndThoseWhoWaitAreToldWhy) {
  world_.submit(1, job("runs").replicas(2));
  run_to(4);
  const Digest before =
      controller_.state().job(JobId{0}).row.holds ? controller_.digest() : Digest{};
  policy_.does = Does::Throws;
  world_.submit(5, job("waits"));
  run_to(7);
  const State& state = controller_.state();
  EXPECT_EQ(state.job(JobId{0}).row.replicas, 2);
  EXPECT_NE(before, Digest{});
  EXPECT_EQ(world_.starts, 1);
  EXPECT_EQ(status_of(state, state.job(JobId{1})).message,
            "there is room for it; policy failing/1 gave no plan, 2 times in a row: it failed: "
            "planted in a test; it is asked again");
}

TEST_F(LostPlans, ThePauseDoublesUpToABoundAndEndsWithAPlan) {
  policy_.does = Does::Throws;
  world_.submit(0, job("a"));
  run_to(250);
  EXPECT_THAT(watcher_.seconds, ElementsAre(0, 1, 3, 7, 15, 31, 63, 123, 183, 243));
  policy_.does = Does::AsItShould;
  run_to(400);
  EXPECT_EQ(world_.starts, 1);
  policy_.does = Does::Throws;
  watcher_.seconds.clear();
  world_.submit(500, job("b"));
  run_to(503);
  EXPECT_THAT(watcher_.seconds, ElementsAre(500, 501, 503));
}

TEST_F(LostPlans, ARunWhosePolicyOnlyFailsComesToAnEnd) {
  policy_.does = Does::Throws;
  world_.submit(0, job("a"));
  EXPECT_EQ(driver_.run(Instant::never()), RunEnd::Finished);
}

TEST_F(LostPlans, AfterALossThePolicyGoesOnFromItsLastAnswer) {
  world_.submit(0, job("a"));
  policy_.does = Does::Throws;
  watcher_.on_loss = [this] {
    if (watcher_.losses.size() == 3) policy_.does = Does::AsItShould;
  };
  run_to(20);
  ASSERT_EQ(watcher_.losses.size(), 3u);
  EXPECT_FALSE(watcher_.losses[2].anew);
  // The two cycles that threw had counted themselves; that is forgotten.
  EXPECT_EQ(policy_.answers, 1u);
  EXPECT_FALSE(policy_.seen_complete);
}

TEST_F(LostPlans, AfterFiveLossesItBeginsAnew) {
  policy_.does = Does::Throws;
  world_.submit(0, job("a"));
  run_to(20);
  ASSERT_EQ(watcher_.losses.size(), kLostBeforeAnew);
  EXPECT_FALSE(watcher_.losses[kLostBeforeAnew - 2].anew);
  EXPECT_TRUE(watcher_.losses[kLostBeforeAnew - 1].anew);
}

TEST_F(LostPlans, AJournalOfThemIsFoldedAndPlannedAgain) {
  policy_.does = Does::Throws;
  watcher_.on_loss = [this] {
    if (watcher_.losses.size() == 3) policy_.does = Does::AsItShould;
  };
  world_.submit(0, job("a"));
  world_.submit(30, job("b"));
  run_to(60);
  Controller again;
  ASSERT_TRUE(replay(memory_, again));
  EXPECT_EQ(again.digest(), controller_.digest());
  FailingPolicy fresh;
  const auto report = recompute(memory_, fresh);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->different, 0u);
  EXPECT_GE(report->plans, 2u);
}

TEST_F(LostPlans, PlannedAgainAPolicyThatWasPutBackLooksAtEverythingAsItDid) {
  world_.submit(0, job("a"));
  run_to(4);
  policy_.does = Does::Throws;
  watcher_.on_loss = [this] { policy_.does = Does::AsItShould; };
  world_.submit(5, job("b"));
  run_to(10);
  ASSERT_EQ(watcher_.losses.size(), 1u);
  ASSERT_EQ(policy_.answers, 1u);
  ASSERT_FALSE(policy_.seen_complete);
  FailingPolicy fresh;
  fresh.seen_complete = true;
  const auto report = recompute(memory_, fresh);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->plans, 2u);
  EXPECT_FALSE(fresh.seen_complete);
}

TEST_F(LostPlans, PlannedAgainAPolicyBeginsAnewWhereItDid) {
  policy_.does = Does::Throws;
  watcher_.on_loss = [this] {
    const std::size_t losses = watcher_.losses.size();
    policy_.does = losses == 1 || losses == 1 + kLostBeforeAnew ? Does::AsItShould : Does::Throws;
  };
  world_.submit(0, job("a"));
  run_to(4);
  ASSERT_EQ(policy_.answers, 1u);
  policy_.does = Does::Throws;
  world_.submit(10, job("b"));
  run_to(100);
  ASSERT_TRUE(watcher_.losses.back().anew);
  ASSERT_EQ(policy_.answers, 1u) << "it has forgotten the first";
  FailingPolicy fresh;
  const auto report = recompute(memory_, fresh);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->plans, 2u);
  EXPECT_EQ(fresh.answers, 1u);
}

}  // namespace
}  // namespace orrery::tests
