#include "runtime/store/sqlite_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/record/codec.hpp"
#include "tests/runtime/store/payloads.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;
using Access = SqliteStore::Access;
using SqliteStoreTest = StoreTest;

TEST_F(SqliteStoreTest, ReadsBackWhatWasAppendedAlsoAfterClosing) {
  Payloads payloads;
  {
    const std::unique_ptr<SqliteStore> store = open();
    ASSERT_TRUE(payloads.append(*store, 3).has_value());
    EXPECT_EQ(store->durable(), Sequence{0});
    ASSERT_TRUE(store->sync().has_value());
    EXPECT_EQ(store->durable(), Sequence{3});
    ASSERT_TRUE(payloads.append(*store, 2).has_value());
    EXPECT_EQ(read_all(*store).sound, 5U);
    ASSERT_TRUE(store->close().has_value());
  }
  const std::unique_ptr<SqliteStore> store = open();
  EXPECT_EQ(store->durable(), Sequence{5});
  EXPECT_EQ(*store->last_chain(), payloads.chain());
  ASSERT_TRUE(payloads.append(*store, 1).has_value());
  const ReadBack back = read_all(*store);
  EXPECT_EQ(back.sound, 6U);
  EXPECT_EQ(back.error, "");
}

TEST_F(SqliteStoreTest, ReadsFromTheMiddleAndStopsWhenToldTo) {
  const std::unique_ptr<SqliteStore> store = open();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(*store, 9).has_value());
  std::vector<std::uint64_t> seen;
  const Status read = store->read_from(Sequence{4}, [&](const StoredRecord& record) {
    seen.push_back(record.sequence.value);
    return seen.size() < 3;
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(seen, ::testing::ElementsAre(4, 5, 6));
}

TEST_F(SqliteStoreTest, ALargeGroupIsCommittedByItself) {
  const std::unique_ptr<SqliteStore> store = open();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(*store, SqliteStore::kGroupMax).has_value());
  EXPECT_EQ(store->durable(), Sequence{SqliteStore::kGroupMax});
}

TEST_F(SqliteStoreTest, RefusesRecordsWithAGap) {
  const std::unique_ptr<SqliteStore> store = open();
  const Status appended = store->append(Epoch{1}, std::vector<StoredRecord>{{Sequence{2}, {}, {}}});
  ASSERT_FALSE(appended.has_value());
  EXPECT_THAT(appended.errors()[0].text(), HasSubstr("record 2: the next record is 1"));
}

TEST_F(SqliteStoreTest, KeepsTheNewestSnapshotAndMakesItsRecordsDurable) {
  const std::unique_ptr<SqliteStore> store = open();
  EXPECT_FALSE(store->latest_snapshot()->has_value());
  Payloads payloads;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(payloads.append(*store, 2).has_value());
    const StoredSnapshot snapshot{
        store->last(), payloads.chain(), kRecordVersion, {std::byte{7}, static_cast<std::byte>(i)}};
    ASSERT_TRUE(store->save_snapshot(snapshot).has_value());
  }
  EXPECT_EQ(store->durable(), Sequence{8});
  const auto latest = store->latest_snapshot();
  ASSERT_TRUE(latest.has_value() && latest->has_value());
  EXPECT_EQ((*latest)->sequence, Sequence{8});
  EXPECT_EQ((*latest)->chain, payloads.chain());
  EXPECT_EQ((*latest)->bytes[1], std::byte{3});
}

TEST_F(SqliteStoreTest, ADamagedByteIsFoundWithItsRecord) {
  write_closed_journal(20);
  std::string bytes = file_bytes();
  const std::size_t place = bytes.find(Payloads::text(13));
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 0x20;
  replace_file(bytes);
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  std::uint64_t sound = 0;
  const Status read = store->read_from(Sequence{1}, [&](const StoredRecord&) {
    ++sound;
    return true;
  });
  EXPECT_EQ(sound, 12U);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.errors()[0].text(), HasSubstr("record 13: its bytes do not give its digest"));
}

TEST_F(SqliteStoreTest, ATornTailAndAMissingRecordAreNamed) {
  write_closed_journal(20);
  execute("DELETE FROM records WHERE sequence = 8");
  EXPECT_THAT(read_all(*open(Access::ReadOnly)).error, HasSubstr("record 8: it is missing"));
  EXPECT_THAT(open_error(), HasSubstr("record 8: it is missing")) << "nothing is appended to that";
  execute("DELETE FROM records WHERE sequence > 17");
  EXPECT_THAT(open_error(), HasSubstr("record 18: the tail is torn: records up to 20"));
}

TEST_F(SqliteStoreTest, ATruncatedFileIsAnError) {
  write_closed_journal(2000);
  const std::string bytes = file_bytes();
  replace_file(bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(open_error(), HasSubstr("the file is damaged; restore it from a copy"));
}

TEST_F(SqliteStoreTest, ADamagedSnapshotIsAnError) {
  const std::unique_ptr<SqliteStore> store = open();
  ASSERT_TRUE(store->save_snapshot({Sequence{0}, {}, kRecordVersion, {std::byte{1}}}).has_value());
  execute("UPDATE snapshots SET bytes = x'02'");
  const auto latest = store->latest_snapshot();
  ASSERT_FALSE(latest.has_value());
  EXPECT_THAT(latest.errors()[0].text(), HasSubstr("snapshot 0: its bytes do not give its digest"));
}

TEST_F(SqliteStoreTest, ANewerLayoutOrRecordVersionIsRefused) {
  write_closed_journal(1);
  execute("PRAGMA user_version = 99");
  EXPECT_THAT(open_error(), HasSubstr("its layout has version 99"));
  execute("PRAGMA user_version = 1; UPDATE tail SET record_version = 77");
  EXPECT_THAT(open_error(), HasSubstr("its records have version 77"));
  EXPECT_THAT(open_error(), HasSubstr("use a newer orrery"));
}

TEST_F(SqliteStoreTest, OtherFilesAreRefused) {
  execute("CREATE TABLE t(x)");
  EXPECT_THAT(open_error(), HasSubstr("another program's database"));
  replace_file(std::string(4096, 'x'));
  EXPECT_THAT(open_error(), HasSubstr("it is no journal; name one"));
  EXPECT_THAT(open_error(), HasSubstr("the file is damaged"));
  path_ = folder_ / "nowhere" / "journal.db";
  EXPECT_THAT(open_error(), HasSubstr("its folder is not there; make it"));
}

TEST_F(SqliteStoreTest, AStoreOpenedForReadingRefusesToAppend) {
  write_closed_journal(2);
  const std::unique_ptr<SqliteStore> store = open(Access::ReadOnly);
  const Status appended = store->append(Epoch{1}, std::vector<StoredRecord>{{Sequence{3}, {}, {}}});
  ASSERT_FALSE(appended.has_value());
  EXPECT_THAT(appended.errors()[0].text(), HasSubstr("opened for reading"));
  EXPECT_EQ(read_all(*store).sound, 2U);
}

TEST_F(SqliteStoreTest, TwoWritersDoNotMix) {
  const std::unique_ptr<SqliteStore> one = open_unlocked();
  const std::unique_ptr<SqliteStore> other = open_unlocked();
  Payloads mine;
  Payloads theirs;
  ASSERT_TRUE(mine.append(*one, 1).has_value());
  const Status refused = theirs.append(*other, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.errors()[0].text(), HasSubstr("another process writes this journal"));
  EXPECT_FALSE(other->sync().has_value()) << "a failed store stays failed";
  EXPECT_TRUE(one->sync().has_value());
}

TEST_F(SqliteStoreTest, ALaterEpochDeposesTheWriterBeforeIt) {
  const std::unique_ptr<SqliteStore> one = open_unlocked();
  Payloads first;
  ASSERT_TRUE(first.append(*one, 2).has_value());
  ASSERT_TRUE(one->sync().has_value());
  const std::unique_ptr<SqliteStore> other = open_unlocked();
  Payloads second = first;
  second.epoch = Epoch{2};
  ASSERT_TRUE(second.append(*other, 1).has_value());
  ASSERT_TRUE(other->sync().has_value());
  const Status refused = first.append(*one, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(refused.errors()[0].text(), HasSubstr("the leader of epoch 1 is deposed: epoch 2"));
  EXPECT_EQ(one->durable(), Sequence{2}) << "what it knows of is not what the other has written";
  ASSERT_TRUE(second.append(*other, 1).has_value()) << "the refused one is in no one's way";
  ASSERT_TRUE(other->sync().has_value());
  first.epoch = Epoch{1};
  const std::unique_ptr<SqliteStore> reopened = open_unlocked();
  EXPECT_EQ(first.append(*reopened, 1).errors()[0].code, ErrorCode::Conflict)
      << "the epoch is in the file";
}

TEST_F(SqliteStoreTest, AnotherWriterOfTheSameEpochIsNoticed) {
  const std::unique_ptr<SqliteStore> one = open_unlocked();
  const std::unique_ptr<SqliteStore> other = open_unlocked();
  Payloads mine;
  Payloads theirs;
  ASSERT_TRUE(theirs.append(*other, 1).has_value());
  ASSERT_TRUE(other->sync().has_value());
  const Status refused = mine.append(*one, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(refused.errors()[0].text(), HasSubstr("record 1: another process has appended it"));
}

TEST_F(SqliteStoreTest, ABackupTakenWhileItIsWrittenIsWhole) {
  const std::unique_ptr<SqliteStore> store = open();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(*store, 500).has_value());
  ASSERT_TRUE(store->sync().has_value());
  ASSERT_TRUE(payloads.append(*store, 5).has_value());
  sqlite3* from = nullptr;
  sqlite3* to = nullptr;
  const std::string copy = folder_ / "copy.db";
  ASSERT_EQ(sqlite3_open_v2(path_.c_str(), &from, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_open(copy.c_str(), &to), SQLITE_OK);
  sqlite3_backup* backup = sqlite3_backup_init(to, "main", from, "main");
  ASSERT_NE(backup, nullptr);
  EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
  sqlite3_close(from);
  sqlite3_close(to);
  ASSERT_TRUE(store->sync().has_value());
  path_ = copy;
  const std::unique_ptr<SqliteStore> restored = open();
  EXPECT_EQ(restored->last(), Sequence{500}) << "what was committed when it was taken";
  EXPECT_EQ(read_all(*restored).sound, 500U);
}

/// Appends and commits for ever; tells each durable record down a pipe.
[[noreturn]] void append_until_killed(const std::string& path, int tell) {
  auto store = SqliteStore::open(path, Access::Append);
  if (!store) _exit(1);
  Payloads payloads;
  while (true) {
    if (!payloads.append(**store, 3) || !(*store)->sync()) _exit(2);
    const std::uint64_t durable = (*store)->durable().value;
    if (write(tell, &durable, sizeof durable) != sizeof durable) _exit(3);
  }
}

TEST_F(SqliteStoreTest, WhatWasDurableSurvivesAKill) {
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) append_until_killed(path_, ends[1]);
    close(ends[1]);
    std::uint64_t promised = 0;
    for (int i = 0; i < 20 + round; ++i)
      ASSERT_EQ(read(ends[0], &promised, sizeof promised), static_cast<ssize_t>(sizeof promised));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::unique_ptr<SqliteStore> store = open();
    const ReadBack back = read_all(*store);
    EXPECT_EQ(back.error, "");
    EXPECT_GE(back.sound, promised);
    EXPECT_EQ(back.sound % 3, 0U) << "a group is committed whole";
  }
}

/// Appends under a limit on the file's size; the exit code says what happened.
[[noreturn]] void append_beyond_limit(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1 << 17, 1 << 17};
  setrlimit(RLIMIT_FSIZE, &limit);
  auto store = SqliteStore::open(path, Access::Append);
  if (!store) _exit(1);
  Payloads payloads;
  Status status = Done{};
  for (int i = 0; i < 200 && status; ++i) {
    status = payloads.append(**store, 100);
    if (status) status = (*store)->sync();
  }
  if (status) _exit(2);
  const std::string text = status.errors()[0].text();
  const bool clear = text.find("failed: ") != std::string::npos &&
                     status.errors()[0].code == ErrorCode::Unavailable;
  _exit(clear && !(*store)->sync() && (*store)->durable().value > 0 ? 42 : 3);
}

TEST_F(SqliteStoreTest, ADiskThatTakesNoMoreIsAClearErrorAndThePrefixStays) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) append_beyond_limit(path_);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  const ReadBack back = read_all(*open());
  EXPECT_EQ(back.error, "");
  EXPECT_GT(back.sound, 0U);
}

}  // namespace
}  // namespace orrery::runtime
