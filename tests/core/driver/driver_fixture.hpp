// A driver with a world and a policy told in advance, and stores that are slow.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "core/record/codec.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/minimum_policy.hpp"

namespace orrery::tests {

/// A world told in advance what happens when; orders are kept.
class ScriptedWorld final : public World {
 public:
  Instant now() const override { return now_; }

  void issue(const Command& command) override {
    issued.push_back(command);
    if (on_issue) on_issue(command);
  }

  void never_started(const StartWorkers& order) override { left_out.push_back(order); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override {
    const bool more = !script.empty();
    if (more && script.begin()->first <= deadline) {
      now_ = std::max(now_, script.begin()->first);
      for (EventBody& body : script.begin()->second)
        events.push_back({now_ - back_step, now_ - back_step, Origin::External, std::move(body)});
      script.erase(script.begin());
      return true;
    }
    if (!deadline.is_never()) now_ = std::max(now_, deadline);
    return more;
  }

  void at(std::int64_t second, EventBody body) {
    script[Instant::zero() + Duration::seconds(second)].push_back(std::move(body));
  }

  std::map<Instant, std::vector<EventBody>> script;
  std::vector<Command> issued;
  std::vector<StartWorkers> left_out;
  std::function<void(const Command&)> on_issue;
  Duration back_step;  ///< How far the clock that stamps events is behind.

 private:
  Instant now_;
};

/// Grants each waiting job its minimum where it fits; counts what it is asked.
class SimplePolicy final : public MinimumPolicy {
 public:
  Plan allocate(const JobView& job, const ClusterView& view) override {
    ++allocations;
    return grants ? MinimumPolicy::allocate(job, view) : Plan{};
  }

  Plan optimize(const ClusterView& view) override {
    ++optimizations;
    return grants ? MinimumPolicy::optimize(view) : Plan{};
  }

  bool grants = true;
  int allocations = 0;
  int optimizations = 0;
};

/// Durable when told so; can be made to fail.
class SlowStore final : public StateStore {
 public:
  Status append(Epoch, std::span<const StoredRecord> records) override {
    if (fail_append) return Error{ErrorCode::Unavailable, {}, 0, "journal", "the disk is full"};
    for (const StoredRecord& record : records) {
      last_ = record.sequence;
      sequences.push_back(record.sequence.value);
    }
    return Done{};
  }

  Sequence durable() const override { return durable_; }

  Status sync() override {
    ++syncs;
    if (fail_sync) return Error{ErrorCode::Unavailable, {}, 0, "journal", "the disk is gone"};
    durable_ = last_;
    return Done{};
  }

  Status read_from(Sequence, const std::function<bool(const StoredRecord&)>&) override {
    return Done{};
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override {
    snapshots.push_back(snapshot);
    return Done{};
  }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return std::optional<StoredSnapshot>{};
  }

  bool fail_append = false;
  bool fail_sync = false;
  int syncs = 0;
  std::vector<std::uint64_t> sequences;
  std::vector<StoredSnapshot> snapshots;

 private:
  Sequence last_;
  Sequence durable_;
};

/// Keeps the kinds of all records with their times.
class Watcher final : public RunObserver {
 public:
  void on_notices(std::span<const Notice>, const State&) override {}

  void on_event(Sequence, const Event& event) override {
    kinds.emplace_back(kind_name(event.body));
    times.push_back(event.at);
  }

  void on_instant_over(const State& state) override {
    over.emplace_back(state.now, state.sequence);
  }

  bool should_stop() override { return kinds.size() >= stop_after; }

  std::vector<std::string> kinds;
  std::vector<Instant> times;
  std::vector<std::pair<Instant, Sequence>> over;  ///< Instants, with the last record of each.
  std::size_t stop_after = SIZE_MAX;
};

/// Durable some time after the call of sync; cannot wait.
class DelayedStore final : public StateStore {
 public:
  DelayedStore(const World& world, Duration latency) : world_(world), latency_(latency) {}

  Status append(Epoch, std::span<const StoredRecord> records) override {
    last_ = records.back().sequence;
    return Done{};
  }

  Sequence durable() const override { return world_.now() >= done_at_ ? under_way_ : durable_; }

  Status sync() override {
    if (world_.now() < done_at_) return Done{};
    durable_ = under_way_;
    if (durable_ == last_) return Done{};
    under_way_ = last_;
    done_at_ = world_.now() + latency_;
    return Done{};
  }

  Instant next_durable() const override {
    return world_.now() < done_at_ ? done_at_ : Instant::never();
  }

  Status read_from(Sequence, const std::function<bool(const StoredRecord&)>&) override {
    return Done{};
  }

  Status save_snapshot(const StoredSnapshot&) override { return Done{}; }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return std::optional<StoredSnapshot>{};
  }

 private:
  const World& world_;
  Duration latency_;
  Sequence last_;
  Sequence under_way_;
  Sequence durable_;
  Instant done_at_;
};

class DriverTest : public testing::Test {
 protected:
  void open(StateStore& store, Settings settings = {}, DriverOptions options = {}) {
    settings.policy = "minimum/1";
    driver_ = std::make_unique<Driver>(controller_, world_, store, planner_, &watcher_, options);
    const Status opened =
        driver_->apply({{{}, {}, Origin::External, EpochStarted{Epoch{1}, settings}},
                        {{}, {}, Origin::External, NodesDeclared{{nodes_of(1, 4)}}}});
    ASSERT_TRUE(opened);
    watcher_.kinds.clear();
    watcher_.times.clear();
    watcher_.over.clear();
  }

  static JobSubmitted submission(const JobBuilder& job) {
    return {1, std::make_shared<JobSpec>(job.spec())};
  }

  /// The next event of the world after each start is that all are ready and then end well.
  void obey() {
    world_.on_issue = [this](const Command& command) {
      const auto* start = std::get_if<StartWorkers>(&command.body);
      if (start == nullptr) return;
      const auto second = static_cast<std::int64_t>(world_.now().in_seconds());
      for (const WorkerStart& w : start->workers) {
        const auto report = [&](WorkerFact fact) {
          return WorkersChanged{start->job, start->generation, w.incarnation, fact, w.rank, 1, 0};
        };
        world_.at(second + 1, report(WorkerFact::Ready));
        world_.at(second + 10, report(WorkerFact::Exited));
      }
    };
  }

  std::size_t issued(std::size_t kind) const {
    return static_cast<std::size_t>(
        std::count_if(world_.issued.begin(), world_.issued.end(), [&](const Command& c) {
          return c.body.index() == kind;
        }));
  }

  static constexpr std::size_t kStart = 0;
  static constexpr std::size_t kAnswer = 4;

  Controller controller_;
  ScriptedWorld world_;
  SimplePolicy policy_;
  InlinePlanner planner_{policy_, Duration::zero(), nullptr};
  Watcher watcher_;
  MemoryStore memory_;
  std::unique_ptr<Driver> driver_;
};

}  // namespace orrery::tests
