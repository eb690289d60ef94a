// Records that two snapshots have made needless leave the file, and are still found or missed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/record/codec.hpp"
#include "tests/runtime/store/payloads.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;

class Archive : public StoreTest {
 protected:
  std::filesystem::path archive() const { return SqliteStore::archive_of(path_); }

  /// Appends `count` records `snapshots` times, each followed by a snapshot; closes.
  void write(Pruning pruning, int snapshots, std::uint64_t count) {
    const std::unique_ptr<SqliteStore> store = open(Access::Append, pruning);
    for (int i = 0; i < snapshots; ++i) {
      ASSERT_TRUE(payloads_.append(*store, count).has_value());
      const Status saved = store->save_snapshot(
          {store->last(), payloads_.chain(), kRecordVersion, {static_cast<std::byte>(i)}});
      ASSERT_TRUE(saved.has_value()) << saved.errors()[0].text();
    }
    ASSERT_TRUE(store->close().has_value());
  }

  Payloads payloads_;
};

TEST_F(Archive, KeepsTwoSnapshotsAndTheTailAfterTheOlder) {
  write(Pruning::Archive, 5, 100);
  {
    const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
    EXPECT_EQ(store->pruned(), Sequence{400});
    EXPECT_EQ(store->first(), Sequence{1});
    const auto snapshots = store->snapshots();
    ASSERT_EQ(snapshots->size(), 2u);
    EXPECT_EQ(snapshots->front().sequence, Sequence{400});
    const ReadBack back = read_all(*store);
    EXPECT_EQ(back.error, "");
    EXPECT_EQ(back.sound, 500u);
  }
  path_ = archive();
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  EXPECT_EQ(store->last(), Sequence{400}) << "the archive is a journal itself";
  EXPECT_EQ(read_all(*store).sound, 400u);
}

TEST_F(Archive, ReadingBeginsAndEndsWhereItIsToldTo) {
  write(Pruning::Archive, 3, 10);
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  for (std::uint64_t first = 1; first <= 31; ++first) {
    std::vector<std::uint64_t> seen;
    const Status read = store->read_from(Sequence{first}, [&](const StoredRecord& record) {
      seen.push_back(record.sequence.value);
      return seen.size() < 12;
    });
    ASSERT_TRUE(read.has_value()) << read.errors()[0].text();
    ASSERT_EQ(seen.size(), std::min<std::uint64_t>(12, 31 - first));
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], first + i);
  }
}

TEST_F(Archive, AReaderFollowsWhatIsAppendedAndPrunedMeanwhile) {
  const std::unique_ptr<SqliteStore> writer = open(Access::Append, Pruning::Archive);
  ASSERT_TRUE(payloads_.append(*writer, 5).has_value());
  ASSERT_TRUE(writer->sync().has_value());
  const std::unique_ptr<SqliteStore> reader = open(Access::ReadOnly);
  std::uint64_t seen = 0;
  const auto follow = [&] {
    return reader->read_from(Sequence{seen + 1}, [&](const StoredRecord& record) {
      EXPECT_EQ(record.sequence, Sequence{++seen});
      return true;
    });
  };
  for (std::uint64_t snapshots = 0; snapshots < 5; ++snapshots) {
    const std::uint64_t written = 5 * (snapshots + 1);
    for (int again = 0; again < 3; ++again) {
      ASSERT_TRUE(follow().has_value());
      EXPECT_EQ(seen, written);
      EXPECT_EQ(reader->last(), Sequence{written});
    }
    ASSERT_TRUE(
        writer->save_snapshot({writer->last(), payloads_.chain(), kRecordVersion, {}}).has_value());
    ASSERT_TRUE(follow().has_value());
    EXPECT_EQ(reader->pruned(), writer->pruned());
    ASSERT_TRUE(payloads_.append(*writer, 5).has_value());
    ASSERT_TRUE(writer->sync().has_value());
  }
  EXPECT_GT(reader->pruned(), Sequence{0});
}

TEST_F(Archive, IsMissedWhereItIsNotThere) {
  write(Pruning::Archive, 3, 10);
  std::filesystem::remove(archive());
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  const Status read = store->read_from(Sequence{1}, [](const StoredRecord&) { return true; });
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.errors().back().text(),
              HasSubstr("record 1: records up to 20 are in the archive, which cannot be read"));
  std::uint64_t seen = 0;
  ASSERT_TRUE(store->read_from(Sequence{21}, [&](const StoredRecord&) { return ++seen > 0; }));
  EXPECT_EQ(seen, 10u) << "a reader that begins with a snapshot needs no archive";
}

TEST_F(Archive, OfAnotherJournalIsRefused) {
  write(Pruning::Archive, 3, 10);
  const std::filesystem::path ours = path_;
  path_ = folder_ / "other.db";
  Payloads others;
  {
    const std::unique_ptr<SqliteStore> store = open();
    const std::string bytes = "something else";
    Digester digester{Digest{}};
    digester.update(bytes);
    const StoredRecord record{Sequence{1}, digester.finish(), std::as_bytes(std::span(bytes))};
    ASSERT_TRUE(store->append(Epoch{1}, std::span(&record, 1)));
    ASSERT_TRUE(store->close());
  }
  std::filesystem::copy_file(
      path_, SqliteStore::archive_of(ours), std::filesystem::copy_options::overwrite_existing);
  path_ = ours;
  EXPECT_NE(read_all(*open(Access::ReadOnly)).error, "");
}

TEST_F(Archive, GoesOnWhereACrashLeftItAheadOfTheJournal) {
  write(Pruning::Keep, 2, 10);
  {
    // As if the machine had stopped between the archive's commit and the deletion here.
    const std::filesystem::path ours = path_;
    path_ = archive();
    Payloads same;
    const std::unique_ptr<SqliteStore> ahead = open();
    ASSERT_TRUE(same.append(*ahead, 15));
    ASSERT_TRUE(ahead->close());
    path_ = ours;
  }
  write(Pruning::Archive, 2, 10);
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  EXPECT_EQ(store->pruned(), Sequence{30});
  EXPECT_EQ(read_all(*store).sound, 40u);
}

TEST_F(Archive, DroppedRecordsAreAnErrorThatSaysWhereToBegin) {
  write(Pruning::Drop, 4, 10);
  EXPECT_FALSE(std::filesystem::exists(archive()));
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  EXPECT_EQ(store->first(), Sequence{31});
  const Status read = store->read_from(Sequence{5}, [](const StoredRecord&) { return true; });
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.errors()[0].text(),
              HasSubstr("record 5: records up to 30 were dropped once two snapshots had them"));
  EXPECT_TRUE(store->read_from(Sequence{31}, [](const StoredRecord&) { return true; }));
}

TEST_F(Archive, WhatWasDroppedOnceIsNotArchivedLater) {
  write(Pruning::Drop, 3, 10);
  write(Pruning::Archive, 2, 10);
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  EXPECT_EQ(store->first(), Sequence{41});
  EXPECT_FALSE(std::filesystem::exists(archive()));
}

TEST_F(Archive, AnyWriterOfTheJournalMaySaveASnapshotOfIt) {
  write(Pruning::Keep, 1, 10);
  const std::unique_ptr<SqliteStore> store = open(Access::Append, Pruning::Drop);
  const StoredSnapshot snapshot{store->last(), *store->last_chain(), kRecordVersion, {}};
  const Status saved = store->save_snapshot(snapshot);
  EXPECT_TRUE(saved.has_value()) << saved.errors()[0].text();
}

TEST_F(Archive, TheFileStaysSmall) {
  write(Pruning::Drop, 3, 1000);
  const auto early = std::filesystem::file_size(path_);
  write(Pruning::Drop, 20, 1000);
  EXPECT_LE(std::filesystem::file_size(path_), early * 3 / 2);
}

TEST_F(Archive, AJournalOfTheFirstLayoutIsBroughtToTheNewest) {
  write(Pruning::Keep, 2, 10);
  // The first layout: no bytes and digest in the tail, a snapshot guarded by its bytes alone.
  Digester first_digest;
  first_digest.update(std::vector<std::byte>{std::byte{0}});
  execute(
      "DROP TABLE tail; CREATE TABLE tail(one INTEGER PRIMARY KEY CHECK(one = 1),"
      " sequence INTEGER NOT NULL, record_version INTEGER NOT NULL);"
      "INSERT INTO tail VALUES(1, 20, 1); PRAGMA user_version = 1;"
      "DELETE FROM snapshots WHERE sequence = 20");
  const Digest digest = first_digest.finish();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  sqlite3_stmt* update = nullptr;
  sqlite3_prepare_v2(database, "UPDATE snapshots SET digest = ?1", -1, &update, nullptr);
  ByteWriter bytes;
  bytes.u64(digest.high);
  bytes.u64(digest.low);
  sqlite3_bind_blob(
      update, 1, bytes.bytes().data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  ASSERT_EQ(sqlite3_step(update), SQLITE_DONE);
  sqlite3_finalize(update);
  sqlite3_close(database);
  {
    const std::unique_ptr<SqliteStore> old = open(Access::ReadOnly);
    EXPECT_EQ(read_all(*old).sound, 20u);
    EXPECT_TRUE(old->snapshots().has_value());
  }
  {
    const std::unique_ptr<SqliteStore> store = open(Access::Append);
    EXPECT_EQ(store->snapshots()->size(), 1u);
    ASSERT_TRUE(payloads_.append(*store, 5));
    ASSERT_TRUE(store->close());
  }
  std::vector<std::uint16_t> versions;
  ASSERT_TRUE(open(Access::ReadOnly)->read_from(Sequence{20}, [&](const StoredRecord& record) {
    versions.push_back(record.version);
    return versions.size() < 2;
  }));
  EXPECT_THAT(versions, ::testing::ElementsAre(1, kRecordVersion));
}

}  // namespace
}  // namespace orrery::runtime
