// What was acknowledged does not go without a word: damage of the log, of its end, of the file.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "core/base/random.hpp"
#include "tests/runtime/store/payloads.hpp"
#include "tests/support/long_form.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::runtime {
namespace lost_records_tests {

using ::testing::HasSubstr;

constexpr std::size_t kHead = 32;
constexpr std::size_t kFrame = 24 + 4096;

/// A journal whose process was killed: its log lies beside it.
class LostRecords : public StoreTest {
 protected:
  static constexpr std::uint64_t kCommits = 30;

  void SetUp() override {
    StoreTest::SetUp();
    const pid_t child = fork();
    if (child == 0) {
      const std::unique_ptr<SqliteStore> store = open();
      Payloads payloads;
      bool done = true;
      for (std::uint64_t i = 0; i < kCommits; ++i)
        done = done && payloads.append(*store, 1) && store->sync();
      raise(done ? SIGKILL : SIGABRT);
    }
    int how = 0;
    waitpid(child, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    file_ = file_bytes();
    log_ = bytes_of("-wal");
    ASSERT_GT(log_.size(), kHead + 10 * kFrame);
  }

  std::string bytes_of(const char* suffix) const { return text_of_file(path_.string() + suffix); }

  /// The files as the kill left them, but for the log; with or without the mark.
  void lay(const std::string& log, bool mark) {
    replace_file(file_);
    std::ofstream(path_.string() + "-wal", std::ios::binary | std::ios::trunc) << log;
    std::filesystem::remove(path_.string() + "-shm");
    if (!mark) std::filesystem::remove(path_.string() + ".mark");
  }

  std::string mark_text() const { return path_.string() + ".mark"; }

  std::string file_;
  std::string log_;
};

TEST_F(LostRecords, AKilledProcessLeavesAllThatWasCommitted) {
  for (const Access access : {Access::ReadOnly, Access::Append}) {
    const std::unique_ptr<SqliteStore> store = open(access);
    EXPECT_EQ(read_all(*store).sound, kCommits);
  }
  EXPECT_FALSE(std::filesystem::exists(mark_text())) << "an orderly end leaves one file";
}

TEST_F(LostRecords, OfAByteOfTheLogAreFoundOrHarmless) {
  constexpr std::uint64_t kSeed = 20'261'122;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  int found = 0;
  const int trials = static_cast<int>(orrery::tests::count_of(80, 200));
  for (int i = 0; i < trials && !HasFailure(); ++i) {
    std::string log = log_;
    const std::size_t place = random.below(log.size());
    log[place] = static_cast<char>(log[place] ^ static_cast<char>(1u << random.below(8)));
    SCOPED_TRACE("byte " + std::to_string(place));
    lay(log, true);
    for (const Access access : {Access::ReadOnly, Access::Append}) {
      const auto store = SqliteStore::open(path_, access);
      if (store) {
        EXPECT_EQ(read_all(**store).sound, kCommits) << "accepted in silence";
      } else {
        EXPECT_THAT(store.errors()[0].text(), HasSubstr("; restore the journal from a copy"));
        ++found;
      }
      if (store && access == Access::Append) break;  // The log is gone now.
    }
    // The mark of an orderly end is gone; this one is that of the kill.
    if (!std::filesystem::exists(mark_text())) StoreTest::TearDown(), SetUp();
  }
  EXPECT_GT(found, trials / 2);
}

// Without a mark: after a loss of power, or of a journal of an earlier version.
TEST_F(LostRecords, AfterABadFrameAreFoundByTheLogAlone) {
  const std::size_t frames = (log_.size() - kHead) / kFrame;
  int found = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    std::string log = log_;
    log[kHead + frame * kFrame + 24 + 1000] ^= 1;
    lay(log, false);
    const std::string error = open_error(Access::ReadOnly);
    if (error.empty()) continue;
    EXPECT_THAT(error, HasSubstr("frame " + std::to_string(frame + 1) + " of the log"));
    EXPECT_THAT(error, HasSubstr("truncate -s "));
    ++found;
  }
  // What the last transaction wrote may have been cut short by a loss of power.
  EXPECT_GE(found, static_cast<int>(frames) - 4);
}

TEST_F(LostRecords, OfADamagedHeadAreFoundByTheLogAlone) {
  std::string log = log_;
  log[17] ^= 1;
  lay(log, false);
  EXPECT_THAT(open_error(), HasSubstr("the head of the log"));
}

TEST_F(LostRecords, WhatTheRemedySaysBringsTheRestBack) {
  std::string log = log_;
  const std::size_t frame = (log.size() - kHead) / kFrame / 2;
  log[kHead + frame * kFrame + 24 + 1000] ^= 1;
  lay(log, true);
  const std::string error = open_error();
  const std::size_t at = error.find("truncate -s ");
  ASSERT_NE(at, std::string::npos) << error;
  const std::size_t size = std::stoul(error.substr(at + 12));
  std::filesystem::resize_file(path_.string() + "-wal", size);
  std::filesystem::remove(mark_text());
  const std::unique_ptr<SqliteStore> store = open();
  const ReadBack back = read_all(*store);
  EXPECT_EQ(back.error, "");
  EXPECT_GT(back.sound, 5u);
  EXPECT_LT(back.sound, kCommits);
}

TEST_F(LostRecords, OfALogThatIsCutOrGoneAreFoundByTheMark) {
  const std::size_t frames = (log_.size() - kHead) / kFrame;
  // The last transaction wrote several frames, of which the last one commits.
  for (std::size_t kept = 0; kept < frames; ++kept) {
    SCOPED_TRACE(std::to_string(kept) + " frames of " + std::to_string(frames));
    lay(log_.substr(0, kHead + kept * kFrame), true);
    const std::string error = open_error(Access::ReadOnly);
    EXPECT_NE(error, "") << "accepted in silence";
    EXPECT_THAT(error, HasSubstr(kept < 3 ? "; " : "; restore the journal from a copy"));
  }
  lay(log_, true);
  std::filesystem::remove(path_.string() + "-wal");
  EXPECT_NE(open_error(), "");
}

// SQLite itself would make a new file, and remove the log of the one that is missing.
TEST_F(LostRecords, OfAMissingFileTheLogIsLeftAlone) {
  for (const bool with_mark : {true, false}) {
    for (const bool is_there : {true, false}) {
      SCOPED_TRACE(std::string(with_mark ? "with" : "without") + " mark, file " +
                   (is_there ? "empty" : "missing"));
      const std::string mark = bytes_of(".mark");
      lay(log_, with_mark);
      std::filesystem::resize_file(path_, 0);
      if (!is_there) std::filesystem::remove(path_);
      EXPECT_THAT(open_error(Access::Append), HasSubstr("the file is missing or empty"));
      EXPECT_THAT(open_error(Access::Append), HasSubstr(with_mark ? "up to 30" : "its log"));
      EXPECT_EQ(bytes_of("-wal"), log_);
      replace_file(file_);
      EXPECT_EQ(read_all(*open(Access::ReadOnly)).sound, kCommits) << "it was put back";
      std::ofstream(mark_text(), std::ios::binary) << mark;
    }
  }
}

TEST_F(LostRecords, WhoRemovesAllOfAMissingJournalBeginsANewOne) {
  std::filesystem::remove(path_);
  std::filesystem::remove(path_.string() + "-wal");
  EXPECT_THAT(open_error(Access::Append), HasSubstr("remove what is left"));
  std::filesystem::remove(mark_text());
  EXPECT_EQ(open_error(Access::Append), "");
}

TEST_F(LostRecords, AnotherJournalUnderTheMarkIsRefusedUntilTheMarkIsRemoved) {
  const std::string mark = bytes_of(".mark");
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directory(folder_);
  write_closed_journal(10);
  std::ofstream(mark_text(), std::ios::binary) << mark;
  EXPECT_THAT(open_error(), HasSubstr("records up to 30 were acknowledged"));
  EXPECT_THAT(open_error(), HasSubstr("remove the mark"));
  std::filesystem::remove(mark_text());
  EXPECT_EQ(open_error(), "");
}

TEST_F(LostRecords, ADamagedMarkIsToldAndAnEmptyOneIsNone) {
  std::string mark = bytes_of(".mark");
  mark[3] ^= 1;
  std::ofstream(mark_text(), std::ios::binary) << mark;
  EXPECT_THAT(open_error(), HasSubstr(".mark: mark: its bytes do not give its digest"));
  std::filesystem::resize_file(mark_text(), 0);
  EXPECT_EQ(open_error(), "");
}

using DamagedFile = StoreTest;

// A leader begins with the last snapshot; what lies before it is needed all the same.
TEST_F(DamagedFile, IsRefusedByWhoAppendsWhereverARecordIsDamaged) {
  {
    const std::unique_ptr<SqliteStore> store = open();
    Payloads payloads;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(payloads.append(*store, 300));
      ASSERT_TRUE(store->save_snapshot({store->last(), payloads.chain(), kRecordVersion, {}}));
    }
    ASSERT_TRUE(store->close());
  }
  const std::string whole = file_bytes();
  int found = 0;
  for (std::uint64_t record = 1; record <= 900; record += 53) {
    SCOPED_TRACE("record " + std::to_string(record));
    const std::string text = Payloads::text(record);
    const std::size_t place = whole.find(text);
    ASSERT_NE(place, std::string::npos);
    std::string bytes = whole;
    bytes[place] ^= 1;
    replace_file(bytes);
    EXPECT_THAT(open_error(), HasSubstr("; records before it are sound; restore"));
    ++found;
  }
  EXPECT_GT(found, 10);
}

TEST_F(DamagedFile, IsRefusedWhereAPageIsOverwritten) {
  write_closed_journal(2000);
  const std::string whole = file_bytes();
  constexpr std::size_t kPage = 4096;
  for (std::size_t page = 0; page * kPage < whole.size(); ++page) {
    SCOPED_TRACE("page " + std::to_string(page));
    std::string bytes = whole;
    bytes.replace(page * kPage, kPage, kPage, 'x');
    replace_file(bytes);
    EXPECT_NE(open_error(), "");
  }
}

using Rights = StoreTest;

mode_t rights_of(const std::string& path) {
  struct stat found {};

  return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

TEST_F(Rights, OfJournalLogLockAndMarkAreTheOwnersAlone) {
  const mode_t before = umask(022);
  const std::unique_ptr<SqliteStore> store = open();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(*store, 10));
  ASSERT_TRUE(store->sync());
  for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark"})
    EXPECT_EQ(rights_of(path_.string() + suffix), 0600u) << "journal" << suffix;
  umask(before);
}

TEST_F(Rights, OfAnEarlierJournalAreNarrowed) {
  write_closed_journal(10);
  std::filesystem::permissions(path_, std::filesystem::perms(0644));
  EXPECT_EQ(open_error(), "");
  EXPECT_EQ(rights_of(path_), 0600u);
}

}  // namespace lost_records_tests
}  // namespace orrery::runtime
