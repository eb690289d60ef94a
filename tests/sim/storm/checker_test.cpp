// The checker against histories that must not be.
#include "sim/storm/checker.hpp"

#include <gtest/gtest.h>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {
namespace {

constexpr Instant at(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

/// Writes a sound journal into a checker and lets tests spoil it.
class CheckerTest : public ::testing::Test {
 protected:
  CheckerTest() : checker_(facts()) {}

  static CheckerFacts facts() {
    NodeGroup group{"main", 2, MilliCpu{8000}, Bytes{1 << 20}, 4, "gpu", 0, 0};
    return {{group}, Duration::seconds(10), Duration::seconds(2), {{"default.train", {100, 1}}}};
  }

  static std::shared_ptr<const JobSpec> spec() {
    JobSpec spec;
    spec.name = "default.train";
    RoleSpec role;
    role.name = "worker";
    role.min_replicas = 1;
    role.max_replicas = 2;
    role.bundle.devices = 1;
    spec.roles.push_back(role);
    spec.preemptible = true;
    spec.backoff_limit = 1;
    return std::make_shared<const JobSpec>(spec);
  }

  /// Appends one record; `writer` is the leader's epoch.
  Sequence append(EventBody body, std::uint32_t writer = 1) {
    ByteWriter bytes;
    encode(Event{now_, now_, Origin::External, std::move(body)}, bytes);
    sequence_ = sequence_.next();
    Digester digester(chain_);
    digester.update(bytes.bytes());
    chain_ = digester.finish();
    checker_.appended(now_, Epoch{writer}, {sequence_, chain_, bytes.bytes()});
    checker_.durable(sequence_);
    return sequence_;
  }

  void begin() {
    append(EpochStarted{Epoch{1}, Settings{}});
    const Sequence submitted = append(JobSubmitted{7, spec()});
    Notice notice;
    notice.job = JobId{0};
    notice.reason = Reason::Submitted;
    checker_.stepped(now_, submitted, std::span(&notice, 1));
  }

  void release(CommandBody body, std::uint32_t epoch = 1) {
    checker_.released(now_, {sequence_, 0, Epoch{epoch}, std::move(body)});
  }

  static WorkerStart worker(std::uint32_t rank,
                            std::uint64_t devices,
                            std::uint32_t node = 0,
                            std::uint32_t incarnation = 1) {
    WorkerStart start;
    start.rank = Rank{rank};
    start.role = RoleIndex{0};
    start.local_rank = static_cast<std::int32_t>(rank);
    start.node = NodeId{node};
    start.incarnation = Incarnation{incarnation};
    start.devices = devices;
    return start;
  }

  static TrueProcess process(std::uint32_t rank,
                             std::uint64_t devices,
                             std::uint32_t node = 0,
                             std::uint32_t incarnation = 1) {
    TrueProcess p;
    p.name = {JobId{0}, Incarnation{incarnation}, Rank{rank}};
    p.role = RoleIndex{0};
    p.local_rank = static_cast<std::int32_t>(rank);
    p.node = NodeId{node};
    p.devices = devices;
    return p;
  }

  void count(Counter counter, std::int32_t value, Sequence record) {
    Notice notice;
    notice.kind = NoticeKind::Counted;
    notice.job = JobId{0};
    notice.counter = counter;
    notice.count = value;
    checker_.stepped(now_, record, std::span(&notice, 1));
  }

  void expect_only(ViolationKind kind) {
    ASSERT_EQ(checker_.found().count(), 1U);
    EXPECT_EQ(checker_.found().kept().front().kind, kind) << checker_.found().kept().front().text;
  }

  Checker checker_;
  Instant now_ = at(1);
  Sequence sequence_;
  Digest chain_;
};

TEST_F(CheckerTest, ASoundHistoryHasNothing) {
  begin();
  release(StartWorkers{JobId{0}, Generation{1}, 2, {worker(0, 1), worker(1, 2)}});
  checker_.process_began(now_, process(0, 1));
  checker_.process_began(now_, process(1, 2));
  now_ = at(60);
  checker_.worked(now_, JobId{0}, 50);
  const Sequence failed = append(
      WorkersChanged{JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{1}, 1, 1});
  count(Counter::Restarts, 1, failed);
  checker_.process_gone(now_, NodeId{0}, process(1, 2).name);
  release(UpdateMembership{JobId{0}, Generation{2}, 2, {worker(0, 1), worker(1, 2, 0, 2)}});
  release(StartWorkers{JobId{0}, Generation{2}, 2, {worker(1, 2, 0, 2)}});
  checker_.process_began(now_, process(1, 2, 0, 2));
  EXPECT_TRUE(checker_.found().empty()) << checker_.found().kept().front().text;
}

TEST_F(CheckerTest, TwoProcessesOnOneDevice) {
  begin();
  checker_.process_began(now_, process(0, 1));
  checker_.process_began(now_, process(1, 1));
  expect_only(ViolationKind::DoubleBooked);
}

TEST_F(CheckerTest, TwoProcessesInOnePlace) {
  begin();
  checker_.process_began(now_, process(0, 1, 0, 1));
  checker_.process_began(now_, process(0, 1, 1, 2));
  expect_only(ViolationKind::TwoEntitled);
}

TEST_F(CheckerTest, AnOldProcessOutlivesItsLease) {
  begin();
  checker_.process_began(now_, process(0, 1));
  release(StartWorkers{JobId{0}, Generation{2}, 1, {worker(0, 1, 1, 2)}});
  now_ = at(30);
  append(TimeReached{});
  expect_only(ViolationKind::StaleAlive);
}

TEST_F(CheckerTest, DevicesOrderedTwice) {
  begin();
  release(StartWorkers{JobId{0}, Generation{1}, 1, {worker(0, 1)}});
  release(StartWorkers{JobId{0}, Generation{2}, 1, {worker(0, 1, 0, 2)}});
  expect_only(ViolationKind::OrderedTwice);
}

// It was decided before its successor was told that no worker is there.
TEST_F(CheckerTest, TheLateOrderOfAnOldLeaderBooksNothing) {
  begin();
  const Sequence decided = sequence_;
  append(EpochStarted{Epoch{2}, Settings{}}, 2);
  append(NodeReturned{NodeId{0}, {}}, 2);
  release(StartWorkers{JobId{0}, Generation{2}, 1, {worker(0, 1, 0, 2)}}, 2);
  const StartWorkers late{JobId{0}, Generation{1}, 1, {worker(0, 1)}};
  checker_.released(now_, {decided, 0, Epoch{1}, late});
  EXPECT_TRUE(checker_.found().empty()) << checker_.found().kept().front().text;
}

TEST_F(CheckerTest, TheSuccessorOfALeaderWithALateOrderMustBeTold) {
  begin();
  const Sequence decided = sequence_;
  append(EpochStarted{Epoch{2}, Settings{}}, 2);
  append(NodeReturned{NodeId{1}, {}}, 2);
  release(StartWorkers{JobId{0}, Generation{2}, 1, {worker(0, 1, 0, 2)}}, 2);
  const StartWorkers late{JobId{0}, Generation{1}, 1, {worker(0, 1)}};
  checker_.released(now_, {decided, 0, Epoch{1}, late});
  expect_only(ViolationKind::OrderedTwice);
}

TEST_F(CheckerTest, TooManyWorkers) {
  begin();
  release(StartWorkers{JobId{0}, Generation{1}, 3, {worker(0, 1), worker(1, 2), worker(2, 4)}});
  expect_only(ViolationKind::BeyondBounds);
}

TEST_F(CheckerTest, OrdersBeforeTheirRecordIsDurable) {
  begin();
  sequence_ = sequence_.next();
  checker_.released(now_, {sequence_, 0, Epoch{1}, CleanJob{JobId{0}, CleanPodPolicy::All}});
  expect_only(ViolationKind::ActBeforeDurable);
}

TEST_F(CheckerTest, OrdersOfAnotherEpoch) {
  begin();
  release(CleanJob{JobId{0}, CleanPodPolicy::All}, 2);
  expect_only(ViolationKind::WrongEpoch);
}

TEST_F(CheckerTest, AnEpochTwice) {
  begin();
  append(EpochStarted{Epoch{1}, Settings{}});
  expect_only(ViolationKind::EpochNotRaised);
}

TEST_F(CheckerTest, ADeposedLeaderWrites) {
  begin();
  append(EpochStarted{Epoch{2}, Settings{}}, 2);
  append(TimeReached{}, 1);
  expect_only(ViolationKind::DeposedWrote);
}

TEST_F(CheckerTest, AGapInTheJournal) {
  begin();
  sequence_ = sequence_.next();
  append(TimeReached{});
  expect_only(ViolationKind::JournalBroken);
}

TEST_F(CheckerTest, DurableRecordsAreLost) {
  begin();
  checker_.store_crashed(now_, Sequence{1});
  expect_only(ViolationKind::JournalLost);
}

TEST_F(CheckerTest, ACounterGoesBack) {
  begin();
  count(Counter::Reschedules, 1, append(TimeReached{}));
  count(Counter::Reschedules, 1, append(TimeReached{}));
  expect_only(ViolationKind::CounterLost);
}

TEST_F(CheckerTest, OneFailureIsChargedTwice) {
  begin();
  const WorkersChanged failed{
      JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 1};
  count(Counter::Restarts, 1, append(failed));
  count(Counter::Restarts, 2, append(failed));
  ASSERT_EQ(checker_.found().count(), 2U);
  EXPECT_EQ(checker_.found().kept()[0].kind, ViolationKind::ChargedTwice);
  EXPECT_EQ(checker_.found().kept()[1].kind, ViolationKind::BackoffLimit);
}

TEST_F(CheckerTest, TheStateOfALeaderHasLostAJobAndACounter) {
  begin();
  const Sequence last = append(TimeReached{});
  count(Counter::Preemptions, 1, last);
  checker_.leader_has(now_, last, {});
  const JobCounts counts{JobId{0}, "default.train", false, false, {}};
  checker_.leader_has(now_, last, std::span(&counts, 1));
  ASSERT_EQ(checker_.found().count(), 2U);
  EXPECT_EQ(checker_.found().kept()[0].kind, ViolationKind::JobVanished);
  EXPECT_EQ(checker_.found().kept()[1].kind, ViolationKind::CounterLost);
}

TEST_F(CheckerTest, WorkComesFromNowhere) {
  begin();
  now_ = at(11);
  checker_.worked(now_, JobId{0}, 50);
  expect_only(ViolationKind::WorkInvented);
}

TEST_F(CheckerTest, SuccessWithWorkLeft) {
  begin();
  Notice notice;
  notice.job = JobId{0};
  notice.to = JobPhase::Succeeded;
  checker_.stepped(now_, append(TimeReached{}), std::span(&notice, 1));
  expect_only(ViolationKind::WorkInvented);
}

TEST_F(CheckerTest, ACheckpointIsForgotten) {
  begin();
  ProgressReported progress;
  progress.job = JobId{0};
  progress.done = 20;
  progress.checkpointed = true;
  now_ = at(30);
  checker_.worked(now_, JobId{0}, 20);
  append(progress);
  checker_.worked(now_, JobId{0}, 5);
  expect_only(ViolationKind::WorkForgotten);
}

}  // namespace
}  // namespace orrery::sim
