// The driver over a store that commits in the background: orders leave once they are durable.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "core/driver/driver.hpp"
#include "runtime/store/background_store.hpp"
#include "tests/runtime/store/gated_store.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/minimum_policy.hpp"

namespace orrery::tests {
namespace {

using runtime::BackgroundStore;
using runtime::GatedStore;

/// A world that stands still; what is pushed happens next, and `wake` ends a wait.
class QuietWorld final : public World {
 public:
  explicit QuietWorld(const StateStore& inner) : inner_(inner) {}

  Instant now() const override { return {}; }

  void issue(const Command& command) override {
    EXPECT_LE(command.sequence, inner_.durable()) << "an order ran ahead of its record";
    if (std::holds_alternative<StartWorkers>(command.body)) ++starts;
    ++orders;
  }

  bool wait_events(Instant, std::vector<Event>& events) override {
    for (EventBody& body : pending) events.push_back({{}, {}, Origin::External, std::move(body)});
    pending.clear();
    return true;
  }

  void wake() {
    {
      const std::lock_guard lock(mutex_);
      ++woken_;
    }
    heard_.notify_all();
  }

  /// Waits for the next wake after those that `seen` counts; false where none comes.
  bool wait_for_wake(int& seen) {
    std::unique_lock lock(mutex_);
    const bool woken =
        heard_.wait_for(lock, std::chrono::seconds(60), [&] { return woken_ > seen; });
    seen = woken_;
    return woken;
  }

  std::vector<EventBody> pending;
  int orders = 0;
  int starts = 0;

 private:
  const StateStore& inner_;
  std::mutex mutex_;
  std::condition_variable heard_;
  int woken_ = 0;
};

/// Plans for a job as it comes, and never again.
class OnceOnly final : public tests::MinimumPolicy {
 public:
  Plan optimize(const ClusterView&) override { return {}; }
};

class BackgroundDriver : public testing::Test {
 protected:
  void open() {
    Settings settings;
    settings.policy = "minimum/1";
    ASSERT_TRUE(driver_.apply({{{}, {}, Origin::External, EpochStarted{Epoch{1}, settings}},
                               {{}, {}, Origin::External, NodesDeclared{{nodes_of(1, 4)}}}}));
  }

  /// Turns until one finds nothing to do.
  Turn settle() {
    Turn last = Turn::Worked;
    while (last == Turn::Worked) last = driver_.turn();
    return last;
  }

  void submit(const std::string& name) {
    world_.pending.push_back(JobSubmitted{1, std::make_shared<JobSpec>(job(name).spec())});
  }

  GatedStore inner_;
  QuietWorld world_{inner_};
  BackgroundStore store_{inner_, [this] { world_.wake(); }};
  Controller controller_;
  OnceOnly policy_;
  InlinePlanner planner_{policy_, Duration::zero(), nullptr};
  Driver driver_{controller_, world_, store_, planner_, nullptr, {}};
};

TEST_F(BackgroundDriver, OrdersLeaveOnlyOnceTheirRecordsAreDurable) {
  open();
  inner_.shut();
  submit("a");
  submit("b");
  EXPECT_EQ(settle(), Turn::Idle);
  EXPECT_EQ(world_.orders, 0) << "the disk stands still";
  EXPECT_GE(driver_.orders_kept_back(), 4u) << "two answers, two starts";
  int seen = 0;
  inner_.open();
  while (driver_.orders_kept_back() > 0 && !HasFailure()) {
    ASSERT_TRUE(world_.wait_for_wake(seen));
    EXPECT_EQ(settle(), Turn::Idle);
  }
  EXPECT_EQ(world_.starts, 2);
}

TEST_F(BackgroundDriver, ARefusalEndsTheRunAndKeepsTheOrders) {
  open();
  ASSERT_TRUE(store_.flush());
  inner_.shut();
  inner_.fails_at = 0;
  submit("a");
  EXPECT_EQ(settle(), Turn::Idle);
  int seen = 0;
  inner_.open();
  Turn turn = Turn::Idle;
  while (turn != Turn::Refused && !HasFailure()) {
    ASSERT_TRUE(world_.wait_for_wake(seen));
    turn = settle();
  }
  EXPECT_EQ(driver_.refusal(), RunEnd::StoreFailed);
  EXPECT_EQ(driver_.store_errors()[0].text(), "journal: the disk is gone; mount it");
  EXPECT_EQ(world_.starts, 0);
}

}  // namespace
}  // namespace orrery::tests
