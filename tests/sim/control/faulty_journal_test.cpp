// The simulated store: what is durable when, and what a crash leaves.
#include "sim/control/faulty_journal.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery::sim {
namespace {

constexpr Instant at(std::int64_t ms) { return Instant::zero() + Duration::milliseconds(ms); }

/// A leader that appends records of text.
class Writer {
 public:
  Writer(FaultyJournal& journal, std::uint32_t epoch)
      : store(journal, LeaderNumber{epoch}), epoch_(epoch) {
    const Status read = store.read_from(Sequence{1}, [&](const StoredRecord& record) {
      next_ = record.sequence.next();
      chain_ = record.chain;
      return true;
    });
    EXPECT_TRUE(read);
  }

  Status append(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string bytes = "record " + std::to_string(next_.value);
      Digester digester(chain_);
      digester.update(bytes);
      const StoredRecord record{next_, digester.finish(), std::as_bytes(std::span(bytes))};
      if (const Status done = store.append(Epoch{epoch_}, std::span(&record, 1)); !done)
        return done;
      next_ = next_.next();
      chain_ = record.chain;
    }
    return Done{};
  }

  std::uint64_t next() const { return next_.value; }

  FaultyStore store;

 private:
  std::uint32_t epoch_;
  Sequence next_{1};
  Digest chain_;
};

FaultyJournal journal_of(std::uint64_t seed) { return FaultyJournal(Random(seed), nullptr); }

TEST(FaultyJournal, IsDurableAtOnceWithoutLatency) {
  FaultyJournal journal = journal_of(1);
  Writer writer(journal, 1);
  ASSERT_TRUE(writer.append(3));
  EXPECT_EQ(journal.durable(), Sequence{0});
  ASSERT_TRUE(writer.store.sync());
  EXPECT_EQ(journal.durable(), Sequence{3});
}

TEST(FaultyJournal, ASyncCoversWhatWasThereWhenItBegan) {
  FaultyJournal journal = journal_of(1);
  journal.set_faults({.latency = Duration::milliseconds(5)});
  Writer writer(journal, 1);
  ASSERT_TRUE(writer.append(2));
  ASSERT_TRUE(writer.store.sync());
  ASSERT_TRUE(writer.append(2));
  ASSERT_TRUE(writer.store.sync()) << "one is under way: this one changes nothing";
  EXPECT_EQ(writer.store.next_durable(), at(5));
  journal.advance_to(at(4));
  EXPECT_EQ(writer.store.durable(), Sequence{0});
  journal.advance_to(at(5));
  EXPECT_EQ(writer.store.durable(), Sequence{2});
  EXPECT_TRUE(writer.store.next_durable().is_never());
}

TEST(FaultyJournal, ACrashTakesWhatWasNotDurable) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const TailLoss loss : {TailLoss::All, TailLoss::Prefix, TailLoss::Torn, TailLoss::None}) {
      FaultyJournal journal = journal_of(seed);
      Writer writer(journal, 1);
      ASSERT_TRUE(writer.append(4));
      ASSERT_TRUE(writer.store.sync());
      ASSERT_TRUE(writer.append(6));
      journal.lose_tail(loss);
      Writer next(journal, 2);
      EXPECT_GE(next.next(), 5u);
      EXPECT_LE(next.next(), 11u);
      if (loss == TailLoss::All) {
        EXPECT_EQ(next.next(), 5u);
      }
      if (loss == TailLoss::None) {
        EXPECT_EQ(next.next(), 11u);
      }
      EXPECT_EQ(journal.durable().value + 1, next.next()) << "what is read is durable";
      EXPECT_TRUE(next.append(1));
    }
  }
}

TEST(FaultyJournal, ALaterEpochDeposesALeaderThatStillRuns) {
  FaultyJournal journal = journal_of(3);
  Writer old(journal, 1);
  ASSERT_TRUE(old.append(2));
  ASSERT_TRUE(old.store.sync());
  Writer next(journal, 2);
  ASSERT_TRUE(next.append(3));
  ASSERT_TRUE(next.store.sync());
  EXPECT_EQ(next.store.durable(), Sequence{5});
  EXPECT_EQ(old.store.durable(), Sequence{2}) << "what others write is not its own";
  EXPECT_FALSE(old.store.is_current());
  const Status refused = old.append(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].code, ErrorCode::Conflict);
  EXPECT_FALSE(old.store.sync());
  EXPECT_FALSE(old.store.save_snapshot({Sequence{1}, {}, kRecordVersion, {}}));
  EXPECT_EQ(journal.last(), Sequence{5});
}

TEST(FaultyJournal, AStoreThatFailsSaysSo) {
  FaultyJournal journal = journal_of(1);
  Writer writer(journal, 1);
  journal.set_faults({.syncs_fail = true});
  ASSERT_TRUE(writer.append(1));
  EXPECT_EQ(writer.store.sync().errors()[0].code, ErrorCode::Unavailable);
  journal.set_faults({.appends_fail = true});
  EXPECT_EQ(writer.append(1).errors()[0].code, ErrorCode::Unavailable);
  journal.set_faults({});
  ASSERT_TRUE(writer.append(1));
  ASSERT_TRUE(writer.store.sync());
  EXPECT_EQ(journal.durable(), Sequence{2});
}

TEST(FaultyJournal, ASnapshotOfLostRecordsIsLostWithThem) {
  FaultyJournal journal = journal_of(1);
  journal.set_faults({.latency = Duration::milliseconds(5)});
  Writer writer(journal, 1);
  const auto save = [&](std::uint64_t sequence) {
    ASSERT_TRUE(writer.store.save_snapshot(
        {Sequence{sequence}, {}, kRecordVersion, {static_cast<std::byte>(sequence)}}));
  };
  ASSERT_TRUE(writer.append(2));
  save(2);
  journal.advance_to(at(5));
  ASSERT_TRUE(writer.append(2));
  save(4);
  EXPECT_EQ((*writer.store.latest_snapshot())->sequence, Sequence{4});
  journal.lose_tail(TailLoss::All);
  Writer next(journal, 2);
  EXPECT_EQ((*next.store.latest_snapshot())->sequence, Sequence{2});
}

}  // namespace
}  // namespace orrery::sim
