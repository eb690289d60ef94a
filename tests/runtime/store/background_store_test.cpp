// Commits in the background lose nothing, promise nothing early, and tell what was refused.
#include "runtime/store/background_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/random.hpp"
#include "tests/runtime/store/gated_store.hpp"
#include "tests/runtime/store/payloads.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;

/// Counts calls, and waits for the next.
class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      ++rung_;
    }
    heard_.notify_all();
  }

  /// False after a time that no machine needs.
  template <class Condition>
  bool wait_until(const Condition& condition) {
    std::unique_lock lock(mutex_);
    return heard_.wait_for(lock, std::chrono::seconds(60), condition);
  }

  std::function<void()> ringer() {
    return [this] { ring(); };
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  int rung_ = 0;
};

std::vector<std::pair<std::uint64_t, std::string>> content_of(StateStore& store) {
  std::vector<std::pair<std::uint64_t, std::string>> out;
  const Status read = store.read_from(Sequence{1}, [&](const StoredRecord& record) {
    out.emplace_back(
        record.sequence.value,
        std::string(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()) +
            record.chain.to_hex() + "v" + std::to_string(record.version));
    return true;
  });
  EXPECT_TRUE(read.has_value());
  return out;
}

class BackgroundStoreTest : public StoreTest {};

TEST_F(BackgroundStoreTest, WhoAppendsDoesNotWaitAndIsWokenOnceItIsDurable) {
  GatedStore inner;
  Bell bell;
  BackgroundStore store(inner, bell.ringer());
  inner.shut();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(store, 3));
  ASSERT_TRUE(store.sync());
  ASSERT_TRUE(payloads.append(store, 2));
  EXPECT_EQ(store.durable(), Sequence{0}) << "nothing can have been committed";
  EXPECT_TRUE(store.next_durable().is_never()) << "it wakes by itself";
  inner.open();
  EXPECT_TRUE(bell.wait_until([&] { return store.durable() == Sequence{5}; }))
      << "also the records without a call of sync";
}

TEST_F(BackgroundStoreTest, GroupsAreBoundedAndASnapshotKeepsItsPlace) {
  GatedStore inner;
  BackgroundOptions options;
  options.group_max = 10;
  options.linger = std::chrono::microseconds(0);
  BackgroundStore store(
      inner, [] {}, options);
  inner.shut();
  Payloads payloads;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(payloads.append(store, 3));
  ASSERT_TRUE(store.save_snapshot({Sequence{90}, payloads.chain(), kRecordVersion, {}}));
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(payloads.append(store, 3));
  inner.open();
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(store.durable(), Sequence{180});
  EXPECT_LE(inner.largest_group(), 10u);
  EXPECT_EQ(inner.snapshot_after, Sequence{90});
  EXPECT_LT(inner.syncs, 180u) << "records are committed in groups";
}

TEST_F(BackgroundStoreTest, AFullQueueMakesAppendWait) {
  GatedStore inner;
  BackgroundOptions options;
  options.queue_bytes_max = 4096;
  Payloads payloads;
  BackgroundStore store(
      inner, [] {}, options);
  inner.shut();
  std::atomic<std::uint64_t> appended = 0;
  std::atomic<bool> failed = false;
  std::thread writer([&] {
    for (int i = 0; i < 2000 && !failed; ++i, ++appended)
      if (!payloads.append(store, 1)) failed = true;
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // It fills the queue until the next record has no room.
  while (store.queued_bytes() + 256 < options.queue_bytes_max &&
         std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_LE(store.queued_bytes(), options.queue_bytes_max);
  EXPECT_LT(appended, 200u) << "more than the queue holds";
  inner.open();
  writer.join();
  EXPECT_FALSE(failed);
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(store.durable(), Sequence{2000});
}

TEST_F(BackgroundStoreTest, WhatIsLargerThanTheQueueIsTakenAlone) {
  GatedStore inner;
  BackgroundOptions options;
  options.queue_bytes_max = 10;
  BackgroundStore store(
      inner, [] {}, options);
  Payloads payloads;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(payloads.append(store, 7));
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(store.durable(), Sequence{140});
}

TEST_F(BackgroundStoreTest, DestructionCommitsWhatIsQueued) {
  const std::unique_ptr<SqliteStore> inner = open();
  Payloads payloads;
  {
    BackgroundOptions options;
    options.linger = std::chrono::seconds(3600);
    BackgroundStore store(
        *inner, [] {}, options);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(payloads.append(store, 1));
  }
  EXPECT_EQ(inner->durable(), Sequence{100});
  EXPECT_EQ(read_all(*inner).sound, 100u);
}

TEST_F(BackgroundStoreTest, ReadsWhatWasThereBefore) {
  write_closed_journal(20);
  const std::unique_ptr<SqliteStore> inner = open();
  BackgroundStore store(*inner, [] {});
  EXPECT_EQ(store.durable(), Sequence{20});
  EXPECT_EQ(read_all(store).sound, 20u);
  EXPECT_FALSE(store.latest_snapshot()->has_value());
}

TEST_F(BackgroundStoreTest, RefusesAtOnceWhatCannotFollow) {
  GatedStore inner;
  BackgroundStore store(inner, [] {});
  Payloads payloads;
  payloads.epoch = Epoch{2};
  ASSERT_TRUE(payloads.append(store, 3));
  const std::vector<StoredRecord> gap{{Sequence{5}, {}, {}}};
  const Status behind = store.append(Epoch{2}, gap);
  ASSERT_FALSE(behind.has_value());
  EXPECT_EQ(behind.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(behind.errors()[0].text(), HasSubstr("record 5: the next record is 4"));
  payloads.epoch = Epoch{1};
  EXPECT_EQ(payloads.append(store, 1).errors()[0].code, ErrorCode::Conflict);
  EXPECT_EQ(store.save_snapshot({Sequence{4}, {}, 1, {}}).errors()[0].code, ErrorCode::Conflict);
  EXPECT_TRUE(store.flush()) << "what is refused here never reaches the store";
}

TEST_F(BackgroundStoreTest, ALeaderThatWasDeposedHearsOfItWithTheCode) {
  const std::unique_ptr<SqliteStore> inner = open_unlocked();
  Bell bell;
  BackgroundStore store(*inner, bell.ringer());
  Payloads mine;
  ASSERT_TRUE(mine.append(store, 2));
  ASSERT_TRUE(store.flush());
  Payloads theirs = mine;
  theirs.epoch = Epoch{2};
  const std::unique_ptr<SqliteStore> other = open_unlocked();
  ASSERT_TRUE(theirs.append(*other, 1));
  ASSERT_TRUE(other->sync());
  ASSERT_TRUE(mine.append(store, 1)) << "it only took it on";
  EXPECT_TRUE(bell.wait_until([&] { return !store.sync().has_value(); }));
  for (const Status& status :
       {store.sync(), mine.append(store, 1), store.flush(), store.save_snapshot({})}) {
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.errors()[0].code, ErrorCode::Conflict);
  }
  EXPECT_EQ(store.durable(), Sequence{2});
}

/// One random history: appends, syncs, snapshots, flushes, against a store that may fail at any
/// call and stands still now and then.
void run_history(std::uint64_t seed) {
  Random random(seed);
  GatedStore inner;
  if (random.below(2) == 0) inner.fails_at = random.below(60);
  BackgroundOptions options;
  options.group_max = 1 + random.below(20);
  options.linger = std::chrono::microseconds(random.below(3) * 100);
  options.queue_bytes_max = 200 + random.below(4000);
  MemoryStore expected;
  std::uint64_t taken = 0;
  bool refused = false;
  Bell bell;
  {
    Payloads payloads;
    Payloads twin;
    BackgroundStore store(inner, bell.ringer(), options);
    for (int i = 0; i < 100 && !refused; ++i) {
      const std::uint64_t before = store.durable().value;
      EXPECT_LE(before, inner.durable().value) << "it promises what is not committed";
      switch (random.below(8)) {
        case 0:
          refused = !store.sync();
          break;
        case 1:
          refused = !store.flush();
          break;
        case 2:
          refused = !store.save_snapshot({Sequence{taken}, payloads.chain(), kRecordVersion, {}});
          break;
        default: {
          const std::uint64_t count = 1 + random.below(8);
          refused = !payloads.append(store, count);
          EXPECT_TRUE(twin.append(expected, count));
          if (!refused) taken += count;
        }
      }
      EXPECT_LE(before, store.durable().value);
    }
    if (refused) {
      EXPECT_TRUE(inner.fails_at.has_value());
      EXPECT_EQ(store.flush().errors()[0].code, ErrorCode::Unavailable);
      EXPECT_FALSE(payloads.append(store, 1)) << "once refused, for ever";
    }
    const std::uint64_t promised = store.durable().value;
    EXPECT_LE(promised, inner.durable().value) << "the store may commit more between the two";
  }
  const auto all = content_of(expected);
  const auto there = content_of(inner);
  ASSERT_LE(there.size(), all.size());
  EXPECT_TRUE(std::equal(there.begin(), there.end(), all.begin())) << "not a prefix";
  if (!inner.fails_at) {
    EXPECT_EQ(inner.durable(), Sequence{taken});
  }
}

TEST(BackgroundStoreProperty, AnyHistoryIsTheSameOrAPrefix) {
  constexpr std::uint64_t kFirst = 20'261'121;
  const std::uint64_t end = kFirst + orrery::tests::count_of(120, 400);
  for (std::uint64_t seed = kFirst; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_history(seed);
  }
}

TEST_F(BackgroundStoreTest, ASqliteJournalIsTheSameAsOneInMemory) {
  constexpr std::uint64_t kSeed = 6;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const std::unique_ptr<SqliteStore> inner = open();
  MemoryStore expected;
  Payloads payloads;
  Payloads twin;
  {
    BackgroundStore store(*inner, [] {});
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t count = 1 + random.below(40);
      ASSERT_TRUE(payloads.append(store, count));
      ASSERT_TRUE(twin.append(expected, count));
      if (random.below(10) == 0) {
        EXPECT_TRUE(store.sync());
      }
      if (random.below(50) > 0) continue;
      EXPECT_TRUE(store.save_snapshot(
          {expected.durable(), payloads.chain(), kRecordVersion, {std::byte{1}}}));
    }
    ASSERT_TRUE(store.flush());
    EXPECT_EQ(store.durable(), expected.durable());
  }
  EXPECT_EQ(content_of(*inner), content_of(expected));
}

}  // namespace
}  // namespace orrery::runtime
