// A policy that thinks for long holds up neither leases nor completions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <condition_variable>
#include <mutex>

#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "runtime/local/local_world.hpp"
#include "runtime/planner/threaded_planner.hpp"
#include "tests/support/minimum_policy.hpp"

namespace orrery::runtime {
namespace {

/// Something that one thread waits for until another has seen it.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Gives every job its minimum as soon as it comes. Thinks about the second job until `gate` opens.
class Thinker final : public tests::MinimumPolicy {
 public:
  explicit Thinker(Gate* gate) : gate_(gate) {}

  Plan allocate(const JobView& job, const ClusterView& view) override {
    if (job.row.id == JobId{1} && gate_ != nullptr) gate_->wait();
    return MinimumPolicy::allocate(job, view);
  }

 private:
  Gate* gate_;
};

/// Opens the gate once the first job has succeeded and the lease was renewed `renewals` times
/// after.
class Watcher final : public RunObserver {
 public:
  Watcher(Gate& gate, LocalWorld& world) : gate_(gate), world_(world) {}

  void on_notices(std::span<const Notice> notices, const State&) override {
    for (const Notice& notice : notices) {
      if (notice.kind != NoticeKind::PhaseChanged || notice.to != JobPhase::Succeeded) continue;
      ++succeeded;
      if (notice.job != JobId{0}) continue;
      const std::uint64_t before = world_.counters().renewals;
      while (world_.counters().renewals < before + 3) sched_yield();
      gate_.open();
    }
  }

  int succeeded = 0;

 private:
  Gate& gate_;
  LocalWorld& world_;
};

LocalSubmission submission(const std::string& name, const std::string& script) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = "default." + name;
  spec->roles.emplace_back();
  spec->roles[0].name = "worker";
  spec->roles[0].command = {"/bin/sh", "-c", script};
  return {Instant::zero(), spec};
}

std::vector<Event> opening(const Settings& settings) {
  NodeGroup group;
  group.name = "local";
  group.count = 1;
  group.cpu = MilliCpu{8000};
  const Instant zero;
  return {{zero, zero, Origin::External, EpochStarted{Epoch{1}, settings}},
          {zero, zero, Origin::External, NodesDeclared{{group}}}};
}

TEST(SlowPolicy, DelaysNoLeaseAndNoCompletionAndItsPlansAreReplayed) {
  LocalOptions options;
  options.settings.policy = "minimum/1";
  options.settings.node_lease = Duration::milliseconds(500);
  options.settings.fence_margin = Duration::milliseconds(100);
  options.submissions = {submission("first", "exit 0"), submission("second", "exit 0")};
  LocalWorld world(options);
  Gate gate;
  Thinker policy(&gate);
  ThreadedPlanner planner(
      policy, [&] { world.wake(); }, nullptr);
  MemoryStore store;
  Controller controller;
  Watcher watcher(gate, world);
  Driver driver(controller, world, store, planner, &watcher, {});
  ASSERT_TRUE(driver.apply(opening(options.settings)).has_value());

  // The gate opens only when the first job's completion was stepped and leases were renewed while
  // the policy thought about the second: a planner in their way would hang here.
  EXPECT_EQ(driver.run(Instant::never()), RunEnd::Finished);
  EXPECT_EQ(watcher.succeeded, 2);
  const LocalCounters counters = world.counters();
  EXPECT_EQ(counters.completions, 2U);
  RecordProperty("max_renewal_gap_us", std::to_string(counters.max_renewal_gap.ns / 1000));
  RecordProperty("max_completion_delay_us",
                 std::to_string(counters.max_completion_delay.ns / 1000));

  Controller again;
  const auto replayed = replay(store, again);
  ASSERT_TRUE(replayed.has_value()) << replayed.errors()[0].text();
  EXPECT_EQ(again.digest(), controller.digest());
  Thinker quick(nullptr);
  const auto recomputed = recompute(store, quick);
  ASSERT_TRUE(recomputed.has_value()) << recomputed.errors()[0].text();
  EXPECT_GE(recomputed->plans, 2U);
  EXPECT_EQ(recomputed->different, 0U);
}

}  // namespace
}  // namespace orrery::runtime
