// The driver's loop: order, durability, time, ends.
#include "core/driver/driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "core/placer/registry.hpp"
#include "core/record/codec.hpp"
#include "tests/core/driver/driver_fixture.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/minimum_policy.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(DriverTest, AnIdleWorldEndsTheRun) {
  open(memory_);
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  EXPECT_THAT(watcher_.kinds, IsEmpty());
}

TEST_F(DriverTest, AJobLivesThroughTheLoop) {
  open(memory_);
  obey();
  world_.at(5, submission(job("a").replicas(2)));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  EXPECT_EQ(controller_.state().job(JobId{0}).row.phase, JobPhase::Succeeded);
  EXPECT_EQ(world_.now(), Instant::zero() + Duration::seconds(15));
}

TEST_F(DriverTest, FactsOfOneInstantAreSteppedInOneOrder) {
  open(memory_);
  world_.at(5, submission(job("a")));
  world_.at(5, NodeSilent{NodeId{0}});
  world_.at(5, NodeReturned{NodeId{0}, {}});
  world_.at(5, WorkersChanged{});
  EXPECT_EQ(driver_->run(Instant::zero() + Duration::seconds(6)), RunEnd::Finished);
  EXPECT_THAT(
      watcher_.kinds,
      ElementsAre(
          "node_silent", "node_returned", "workers_changed", "job_submitted", "plan_proposed"));
}

TEST_F(DriverTest, AnInstantIsOverOnceAllOfItsFactsWereStepped) {
  open(memory_);
  const auto at = [](int seconds) { return Instant::zero() + Duration::seconds(seconds); };
  const Sequence opened = controller_.state().sequence;
  world_.at(5, NodeSilent{NodeId{0}});
  world_.at(5, NodeReturned{NodeId{0}, {}});
  world_.at(6, submission(job("a")));
  world_.at(8, NodeSilent{NodeId{0}});
  EXPECT_EQ(driver_->run(at(9)), RunEnd::Finished);
  ASSERT_EQ(watcher_.over.size(), 3U);
  EXPECT_EQ(watcher_.over[0], std::pair(Instant::zero(), opened));
  EXPECT_EQ(watcher_.over[1], std::pair(at(5), opened.next().next()));
  // The submission, and the plan that followed it at once.
  EXPECT_EQ(watcher_.over[2], std::pair(at(6), opened.next().next().next().next()));
}

TEST_F(DriverTest, ObservedTimeNeverStepsBack) {
  open(memory_);
  world_.at(5, submission(job("a")));
  ASSERT_EQ(driver_->run(Instant::zero() + Duration::seconds(6)), RunEnd::Finished);
  world_.back_step = Duration::seconds(4);
  world_.at(7, submission(job("b")));
  ASSERT_EQ(driver_->run(Instant::zero() + Duration::seconds(8)), RunEnd::Finished);
  EXPECT_TRUE(std::is_sorted(watcher_.times.begin(), watcher_.times.end()));
  EXPECT_GE(controller_.state().now, Instant::zero() + Duration::seconds(5));
}

TEST_F(DriverTest, OrdersGoOutOnceTheirRecordsAreDurable) {
  SlowStore store;
  open(store);
  world_.on_issue = [&](const Command& command) {
    EXPECT_LE(command.sequence, store.durable()) << "an order ran ahead of its record";
  };
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::zero() + Duration::seconds(6)), RunEnd::Finished);
  EXPECT_EQ(issued(kAnswer), 1u);
  EXPECT_EQ(issued(kStart), 1u);
  EXPECT_GE(store.syncs, 1);
}

TEST_F(DriverTest, OrdersWaitForASlowStoreAndGoOutInOrder) {
  DelayedStore store(world_, Duration::seconds(2));
  open(store);
  obey();
  std::vector<std::pair<std::uint64_t, Instant>> out;
  const auto answer = world_.on_issue;
  world_.on_issue = [&](const Command& command) {
    EXPECT_LE(command.sequence, store.durable()) << "an order ran ahead of its record";
    out.emplace_back(command.sequence.value, world_.now());
    answer(command);
  };
  world_.at(5, submission(job("a")));
  world_.at(6, submission(job("b")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  ASSERT_GE(out.size(), 4u);
  // The declarations are on their way to the disk when the first job comes: it waits for both.
  EXPECT_GE(out.front().second, Instant::zero() + Duration::seconds(7));
  EXPECT_EQ(driver_->orders_kept_back(), 0u);
  EXPECT_EQ(controller_.state().totals.succeeded, 2u);
}

TEST_F(DriverTest, AStartThatAnotherHasReplacedMeanwhileIsNotIssued) {
  DelayedStore store(world_, Duration::seconds(30));
  open(store);
  world_.at(5, submission(job("a")));
  world_.at(
      10, WorkersChanged{JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Lost, Rank{0}, 1, 0});
  ASSERT_EQ(driver_->run(Instant::zero() + Duration::seconds(100)), RunEnd::Finished);
  std::vector<std::uint32_t> started;
  for (const Command& command : world_.issued)
    if (const auto* start = std::get_if<StartWorkers>(&command.body))
      for (const WorkerStart& each : start->workers) started.push_back(each.incarnation.value);
  EXPECT_THAT(started, ElementsAre(2)) << "the first became durable when it was lost already";
}

TEST_F(DriverTest, TheWorldIsToldWhichWorkersThatAreToStopNeverStarted) {
  DelayedStore store(world_, Duration::seconds(30));
  open(store);
  world_.at(5, submission(job("a").replicas(2)));
  world_.at(
      10, WorkersChanged{JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Lost, Rank{0}, 1, 0});
  world_.at(10, StopRequested{2, JobId{0}});
  ASSERT_EQ(driver_->run(Instant::zero() + Duration::seconds(100)), RunEnd::Finished);
  EXPECT_EQ(issued(kStart), 0u);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> left_out;
  for (const StartWorkers& order : world_.left_out)
    for (const WorkerStart& each : order.workers)
      left_out.emplace_back(order.generation.value, each.rank.value);
  // The first rank 0 is known to be lost; its successor, like rank 1, was told to stop.
  EXPECT_THAT(left_out, ElementsAre(std::pair(1, 1), std::pair(2, 0)));
}

/// Each look at it takes a millisecond, and it has something to tell each time.
class BusyWorld final : public World {
 public:
  explicit BusyWorld(Instant until) : until_(until) {}

  Instant now() const override { return now_; }

  void issue(const Command& command) override { issued.push_back({now_, command}); }

  bool wait_events(Instant, std::vector<Event>& events) override {
    now_ = now_ + Duration::milliseconds(1);
    if (now_ >= until_) return false;
    events.push_back({now_, now_, Origin::External, std::move(next)});
    next = StopRequested{0, JobId{77}};
    return true;
  }

  EventBody next = StopRequested{0, JobId{77}};
  std::vector<std::pair<Instant, Command>> issued;

 private:
  Instant now_;
  Instant until_;
};

TEST_F(DriverTest, AStreamOfFactsKeepsNeitherTimersNorPlansWaiting) {
  const Instant end = Instant::zero() + Duration::seconds(5);
  BusyWorld world(end);
  Driver driver(controller_, world, memory_, planner_, &watcher_, {});
  Settings settings;
  settings.policy = "minimum/1";
  settings.plan_period = Duration::seconds(1);
  ASSERT_TRUE(driver.apply({{{}, {}, Origin::External, EpochStarted{Epoch{1}, settings}},
                            {{}, {}, Origin::External, NodesDeclared{{nodes_of(1, 4)}}}}));
  watcher_.kinds.clear();
  JobBuilder late = job("a");
  late.raw().start_deadline = Duration::seconds(2);
  world.next = submission(late);
  while (world.now() < end) ASSERT_NE(driver.turn(), Turn::Refused);
  const auto count = [&](std::string_view kind) {
    return std::count(watcher_.kinds.begin(), watcher_.kinds.end(), kind);
  };
  EXPECT_GE(count("stop_requested"), 4000) << "there was no gap";
  ASSERT_GE(world.issued.size(), 2u);
  EXPECT_LE(world.issued[1].first, Instant::zero() + Duration::milliseconds(10)) << "its start";
  EXPECT_NE(controller_.state().job(JobId{0}).row.phase, JobPhase::Starting)
      << "its workers were not ready in time";
  // Four cycles and the deadline, which may fall together.
  EXPECT_GE(count("time_reached"), 4);
  EXPECT_LE(count("time_reached"), 8);
}

TEST_F(DriverTest, ATurnDoesWhatThereIsAndNeverWaits) {
  DelayedStore store(world_, Duration::seconds(2));
  open(store);
  EXPECT_EQ(driver_->turn(), Turn::Idle);
  EXPECT_EQ(world_.now(), Instant::zero());
  world_.at(0, submission(job("a")));
  EXPECT_EQ(driver_->turn(), Turn::Worked) << "the submission";
  EXPECT_EQ(driver_->turn(), Turn::Worked) << "the plan";
  EXPECT_EQ(driver_->turn(), Turn::Idle);
  EXPECT_THAT(world_.issued, IsEmpty());
  EXPECT_EQ(driver_->orders_kept_back(), 2u);
  const Instant durable = Instant::zero() + Duration::seconds(2);
  EXPECT_EQ(driver_->next_wake(), durable);
  std::vector<Event> none;
  world_.wait_events(durable, none);
  while (driver_->turn() != Turn::Idle || driver_->orders_kept_back() > 0)
    world_.wait_events(std::min(driver_->next_wake(), durable + Duration::seconds(9)), none);
  EXPECT_EQ(world_.issued.size(), 2u);
  EXPECT_THAT(none, IsEmpty());
}

TEST_F(DriverTest, ADeposedLeaderEndsWithoutAnOrder) {
  open(memory_);
  const Sequence last = memory_.durable();
  Controller other;
  ScriptedWorld elsewhere;
  Driver successor(other, elsewhere, memory_, planner_, nullptr, {});
  const auto end = replay(memory_, other);
  ASSERT_TRUE(end.has_value());
  successor.continue_from(end->chain, end->snapshot);
  ASSERT_TRUE(successor.apply({{{}, {}, Origin::External, EpochStarted{Epoch{2}, {}}}}));
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Deposed);
  EXPECT_THAT(world_.issued, IsEmpty());
  EXPECT_EQ(memory_.durable(), last.next());
  ASSERT_FALSE(driver_->store_errors().empty());
  EXPECT_EQ(driver_->store_errors()[0].text(),
            "journal: the leader of epoch 1 is deposed: epoch 2 has begun to write; end this "
            "controller, the other one goes on");
}

TEST_F(DriverTest, AJournalWhosePlacerIsNotThereIsNotReplayed) {
  MemoryStore store;
  Digest chain;
  for (const std::uint32_t epoch : {1U, 2U}) {
    Settings settings;
    settings.placer = "worst_fit/" + std::to_string(epoch);
    ByteWriter bytes;
    encode(Event{{}, {}, Origin::External, EpochStarted{Epoch{epoch}, settings}}, bytes);
    Digester digester(chain);
    digester.update(bytes.bytes());
    chain = digester.finish();
    ASSERT_TRUE(store.append(Epoch{epoch}, {{{Sequence{epoch}, chain, bytes.bytes()}}}));
  }
  Controller other;
  const auto end = replay(store, other);
  ASSERT_FALSE(end.has_value());
  ASSERT_EQ(end.errors().size(), 1u) << "it ends at the first";
  EXPECT_EQ(end.errors()[0].text(),
            "journal record 1: names the placer worst_fit/1, this program has " +
                placers::names_text() + "; use the program that wrote the journal, or a newer one");
}

TEST_F(DriverTest, ARecordOfANewerVersionEndsTheReplayWithAReason) {
  ByteWriter bytes;
  encode(Event{{}, {}, Origin::External, EpochStarted{Epoch{1}, {}}}, bytes);
  Digester digester(Digest{});
  digester.update(bytes.bytes());
  StoredRecord record{Sequence{1}, digester.finish(), bytes.bytes()};
  record.version = kRecordVersion + 1;
  MemoryStore store;
  ASSERT_TRUE(store.append(Epoch{1}, {{record}}));
  Controller other;
  const auto end = replay(store, other);
  ASSERT_FALSE(end.has_value());
  EXPECT_THAT(end.errors()[0].text(),
              testing::HasSubstr("version " + std::to_string(kRecordVersion + 1)));
}

TEST_F(DriverTest, AStoreThatCannotSyncLetsNoOrderOut) {
  SlowStore store;
  open(store);
  store.fail_sync = true;
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::StoreFailed);
  EXPECT_THAT(world_.issued, IsEmpty());
  ASSERT_EQ(driver_->store_errors().size(), 1u);
  EXPECT_EQ(driver_->store_errors()[0].message, "the disk is gone");
}

TEST_F(DriverTest, AStoreThatCannotAppendChangesNothing) {
  SlowStore store;
  open(store);
  const Digest state = controller_.digest();
  const Digest chain = driver_->chain();
  store.fail_append = true;
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::StoreFailed);
  EXPECT_EQ(controller_.digest(), state);
  EXPECT_EQ(driver_->chain(), chain);
  EXPECT_THAT(world_.issued, IsEmpty());
}

TEST_F(DriverTest, AReplayOrdersWhatTheLeaderDid) {
  DriverOptions options;
  options.fingerprints_orders = true;
  open(memory_, {}, options);
  obey();
  for (int i = 0; i < 5; ++i) world_.at(5 + i, submission(job("j" + std::to_string(i))));
  ASSERT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  const TermOrders& led = driver_->term_orders();
  EXPECT_EQ(led.count(), world_.issued.size());
  EXPECT_EQ(led.last(), controller_.state().sequence);
  const auto terms = orders_of_terms(memory_);
  ASSERT_TRUE(terms.has_value());
  ASSERT_EQ(terms->size(), 1U);
  EXPECT_EQ(terms->front().text(), led.text());
}

TEST_F(DriverTest, OneOrderThatDiffersGivesAnotherFingerprint) {
  const auto digest_of = [](std::int32_t replicas, std::uint64_t sequence) {
    TermOrders orders;
    orders.begin(Epoch{1}, Sequence{1});
    StopWorkers stop;
    stop.workers.resize(static_cast<std::size_t>(replicas));
    const CommandBody order = stop;
    orders.stepped(Sequence{sequence}, {&order, 1});
    return orders.digest();
  };
  EXPECT_EQ(digest_of(2, 3), digest_of(2, 3));
  EXPECT_NE(digest_of(2, 3), digest_of(1, 3));
  EXPECT_NE(digest_of(2, 3), digest_of(2, 4)) << "the same order, of another record";
}

TEST_F(DriverTest, RecordsAreNumberedWithoutGapsAndOrdersOnce) {
  SlowStore store;
  open(store);
  obey();
  for (int i = 0; i < 5; ++i) world_.at(5 + i, submission(job("j" + std::to_string(i))));
  ASSERT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  for (std::size_t i = 0; i < store.sequences.size(); ++i) EXPECT_EQ(store.sequences[i], i + 1);
  std::set<std::pair<std::uint64_t, std::uint32_t>> names;
  for (const Command& command : world_.issued)
    EXPECT_TRUE(names.emplace(command.sequence.value, command.index).second);
}

TEST_F(DriverTest, ThePolicyIsAskedOnceForManyEndsOfOneInstant) {
  Settings settings;
  open(memory_, settings);
  obey();
  for (int i = 0; i < 4; ++i) world_.at(5, submission(job("j" + std::to_string(i))));
  world_.at(6, submission(job("waiting").replicas(4)));
  ASSERT_EQ(driver_->run(Instant::zero() + Duration::seconds(14)), RunEnd::Finished);
  const int before = policy_.optimizations;
  ASSERT_EQ(driver_->run(Instant::zero() + Duration::seconds(16)), RunEnd::Finished);
  EXPECT_EQ(policy_.optimizations, before + 1);
  EXPECT_EQ(policy_.allocations, 5);
}

TEST_F(DriverTest, ACycleOverAJobThatNeverStartsEndsTheRun) {
  Settings settings;
  settings.plan_period = Duration::seconds(60);
  policy_.grants = false;
  DriverOptions options;
  options.quiet_cycles_max = 20;
  open(memory_, settings, options);
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  EXPECT_EQ(controller_.state().live_count(), 1u);
  EXPECT_GE(policy_.optimizations, 20);
  EXPECT_LE(policy_.optimizations, 25);
}

TEST_F(DriverTest, ACycleWhoseGrantIsAlwaysDroppedEndsTheRunToo) {
  Settings settings;
  settings.plan_period = Duration::seconds(60);
  DriverOptions options;
  options.quiet_cycles_max = 20;
  open(memory_, settings, options);
  world_.at(4, QuotasDeclared{{{"namespace/default", 0}}});
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  EXPECT_EQ(controller_.state().live_count(), 1u);
}

TEST_F(DriverTest, ARunGoesOnHoweverLongTheWorldTellsWhatOrdersNothing) {
  DriverOptions options;
  options.quiet_cycles_max = 3;
  open(memory_, {}, options);
  obey();
  for (int i = 0; i < 20; ++i) world_.at(5 + i, WorkersChanged{});
  world_.at(50, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  EXPECT_EQ(issued(kStart), 1u);
}

TEST_F(DriverTest, TheEndOfTheRunIsKept) {
  Settings settings;
  settings.plan_period = Duration::seconds(60);
  policy_.grants = false;
  open(memory_, settings);
  world_.at(5, submission(job("a")));
  world_.at(5000, submission(job("b")));
  EXPECT_EQ(driver_->run(Instant::zero() + Duration::seconds(600)), RunEnd::Finished);
  EXPECT_EQ(world_.now(), Instant::zero() + Duration::seconds(600));
  EXPECT_LE(watcher_.times.back(), Instant::zero() + Duration::seconds(600));
}

TEST_F(DriverTest, AnObserverEndsTheRun) {
  open(memory_);
  obey();
  watcher_.stop_after = 3;
  for (int i = 0; i < 9; ++i) world_.at(5 + i, submission(job("j" + std::to_string(i))));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Stopped);
}

TEST_F(DriverTest, EndlessTurnsAtOneInstantAreNoProgress) {
  DriverOptions options;
  options.idle_turns_max = 100;
  open(memory_, {}, options);
  // Each start is refused at once, and a job with so many restarts and no backoff tries for ever.
  world_.on_issue = [this](const Command& command) {
    const auto* start = std::get_if<StartWorkers>(&command.body);
    if (start == nullptr) return;
    world_.script[world_.now()].push_back(WorkersChanged{start->job,
                                                         start->generation,
                                                         start->workers[0].incarnation,
                                                         WorkerFact::LaunchFailed,
                                                         start->workers[0].rank,
                                                         1,
                                                         1});
  };
  JobBuilder builder = job("a").limit(1'000'000);
  builder.raw().backoff_base = Duration::zero();
  builder.raw().backoff_max = Duration::zero();
  world_.at(5, submission(builder));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::NoProgress);
}

TEST_F(DriverTest, EachInstantHasAllTheTurnsThatAreAllowed) {
  DriverOptions options;
  options.idle_turns_max = 0;  // One for the only job.
  open(memory_, {}, options);
  obey();
  world_.at(5, submission(job("a")));
  EXPECT_EQ(driver_->run(Instant::never()), RunEnd::Finished) << "two turns, one goes beyond";
}

TEST_F(DriverTest, AnAnswerThatIsLostIsMissedWhenItWouldHaveCome) {
  InlinePlanner slow(policy_, Duration::seconds(3), nullptr);
  open(memory_);
  const PlanRequest request{controller_.state().sequence, PlanTrigger::Period, {}};
  slow.lose(request, controller_, PlanLoss::Failed, "planted in a test");
  const Instant due = controller_.state().now + Duration::seconds(3);
  EXPECT_EQ(slow.ready_at(), due);
  EXPECT_FALSE(slow.take(due - Duration::milliseconds(1)).has_value());
  EXPECT_TRUE(slow.take(due).has_value());
}

TEST_F(DriverTest, SnapshotsAreTakenAndLoad) {
  SlowStore store;
  DriverOptions options;
  options.snapshot_every = 4;
  open(store, {}, options);
  obey();
  for (int i = 0; i < 5; ++i) world_.at(5 + i, submission(job("j" + std::to_string(i))));
  ASSERT_EQ(driver_->run(Instant::never()), RunEnd::Finished);
  ASSERT_GE(store.snapshots.size(), 3u);
  for (const StoredSnapshot& snapshot : store.snapshots) {
    Controller loaded;
    ByteReader in{std::span<const std::byte>(snapshot.bytes)};
    EXPECT_TRUE(loaded.load(in, snapshot.version));
    EXPECT_EQ(loaded.state().sequence, snapshot.sequence);
  }
}

TEST_F(DriverTest, AModelledLatencyDelaysTheAnswerNotTheWorld) {
  InlinePlanner slow(policy_, Duration::seconds(3), nullptr);
  Driver driver(controller_, world_, memory_, slow, &watcher_, {});
  ASSERT_TRUE(driver.apply({{{}, {}, Origin::External, EpochStarted{Epoch{1}, {}}},
                            {{}, {}, Origin::External, NodesDeclared{{nodes_of(1, 4)}}}}));
  world_.at(5, submission(job("a")));
  world_.at(6, submission(job("b")));
  ASSERT_EQ(driver.run(Instant::zero() + Duration::seconds(20)), RunEnd::Finished);
  ASSERT_EQ(issued(kStart), 2u);
  const State& state = controller_.state();
  EXPECT_EQ(state.job(JobId{0}).started_at, Instant::zero() + Duration::seconds(8));
  EXPECT_EQ(state.job(JobId{1}).started_at, Instant::zero() + Duration::seconds(11));
}

}  // namespace
}  // namespace orrery::tests
