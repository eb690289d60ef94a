// A disk that is full or read-only: refused in clear words, nothing lost, and usable again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/record/codec.hpp"
#include "runtime/store/background_store.hpp"
#include "tests/runtime/store/payloads.hpp"
#include "tests/support/long_form.hpp"
#include "tests/support/small_disk.hpp"

namespace orrery::runtime {
namespace {

using ::testing::AllOf;

using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

/// The store's folder is a file system of its own.
class FullDisk : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (auto disk = tests::SmallDisk::mount_at(folder_)) {
      disk_.emplace(std::move(*disk));
    } else {
      GTEST_SKIP() << "no file system can be mounted here: " << std::strerror(errno);
    }
  }

  void TearDown() override {
    disk_.reset();
    StoreTest::TearDown();
  }

  std::optional<tests::SmallDisk> disk_;
};

TEST_F(FullDisk, WhenItIsFullTheStoreRefusesAndLosesNothing) {
  Payloads payloads;
  std::uint64_t durable = 0;
  {
    const std::unique_ptr<SqliteStore> store = open();
    ASSERT_TRUE(payloads.append(*store, 500));
    ASSERT_TRUE(store->sync());
    disk_->fill();
    Status status = Done{};
    for (int i = 0; i < 10'000 && status; ++i) {
      durable = store->durable().value;
      status = payloads.append(*store, 10);
      if (status) status = store->sync();
    }
    ASSERT_FALSE(status.has_value()) << "the disk took more than it has";
    EXPECT_EQ(status.errors()[0].code, ErrorCode::Unavailable);
    EXPECT_THAT(
        status.errors()[0].text(),
        AllOf(HasSubstr("journal.db: journal: "),
              HasSubstr("failed: "),
              HasSubstr("the disk is full; free space: a controller then goes on by itself, "
                        "at the last durable record of the journal")));
    EXPECT_EQ(store->durable(), Sequence{durable});
    disk_->free_space();
    EXPECT_FALSE(store->sync()) << "a store that failed is opened anew";
  }
  const std::unique_ptr<SqliteStore> store = open();
  EXPECT_EQ(store->last(), Sequence{durable});
  const ReadBack back = read_all(*store);
  EXPECT_EQ(back.error, "");
  EXPECT_EQ(back.sound, durable);
  const std::string text = "goes on";
  Digester digester(*store->last_chain());
  digester.update(text);
  const StoredRecord next{store->last().next(), digester.finish(), std::as_bytes(std::span(text))};
  EXPECT_TRUE(store->append(Epoch{2}, std::span(&next, 1)));
  EXPECT_TRUE(store->sync());
}

TEST_F(FullDisk, WhenItIsFullWhoCommitsInTheBackgroundHearsOfIt) {
  Payloads payloads;
  std::uint64_t durable = 0;
  {
    const std::unique_ptr<SqliteStore> inner = open();
    BackgroundStore store(*inner, [] {});
    ASSERT_TRUE(payloads.append(store, 500));
    ASSERT_TRUE(store.flush());
    disk_->fill();
    Status status = Done{};
    for (int i = 0; i < 1'000'000 && status; ++i) status = payloads.append(store, 10);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.errors()[0].code, ErrorCode::Unavailable);
    EXPECT_THAT(status.errors()[0].text(), HasSubstr("the disk is full; free space"));
    durable = store.durable().value;
    EXPECT_GE(durable, 500u);
  }
  disk_->free_space();
  EXPECT_GE(read_all(*open()).sound, durable);
}

TEST_F(FullDisk, ASnapshotThatDoesNotFitLeavesTheOneBefore) {
  Payloads payloads;
  {
    const std::unique_ptr<SqliteStore> store = open();
    ASSERT_TRUE(payloads.append(*store, 100));
    ASSERT_TRUE(
        store->save_snapshot({Sequence{100}, payloads.chain(), kRecordVersion, {std::byte{1}}}));
    ASSERT_TRUE(payloads.append(*store, 100));
    ASSERT_TRUE(store->sync());
    const std::vector<std::byte> large(2 << 20);
    const Status saved =
        store->save_snapshot({Sequence{200}, payloads.chain(), kRecordVersion, large});
    ASSERT_FALSE(saved.has_value());
    EXPECT_THAT(saved.errors()[0].text(), HasSubstr("the disk is full"));
  }
  const std::unique_ptr<SqliteStore> store = open();
  const auto snapshot = store->latest_snapshot();
  ASSERT_TRUE(snapshot.has_value() && snapshot->has_value());
  EXPECT_EQ((*snapshot)->sequence, Sequence{100});
  EXPECT_EQ(read_all(*store).sound, 200u);
}

TEST_F(FullDisk, WhenItIsFullFromTheStartNothingIsBegun) {
  disk_->fill();
  EXPECT_THAT(open_error(), HasSubstr("the disk is full"));
  disk_->free_space();
  EXPECT_EQ(open_error(), "");
}

TEST_F(FullDisk, WhenItIsReadOnlyItCanBeReadAndNothingElse) {
  write_closed_journal(20);
  disk_->set_read_only(true);
  EXPECT_THAT(open_error(),
              AllOf(HasSubstr("journal.db: journal: "),
                    HasSubstr("the folder is read-only; allow writing, or choose another place")));
  EXPECT_EQ(read_all(*open(Access::ReadOnly)).sound, 20u);
  disk_->set_read_only(false);
  EXPECT_EQ(open_error(), "");
}

TEST_F(StoreTest, AReadOnlyFileIsRefusedForAppending) {
  write_closed_journal(20);
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  const bool root = geteuid() == 0;
  // To the superuser nothing is read-only.
  ASSERT_TRUE(!root || chown(path_.c_str(), kNobody, kNobody) + seteuid(kNobody) == 0);
  const std::string error = open_error();
  const std::uint64_t readable = read_all(*open(Access::ReadOnly)).sound;
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_THAT(error, HasSubstr("the file or its folder is read-only; allow writing"));
  EXPECT_EQ(readable, 20u);
}

TEST_F(StoreTest, ASecondStoreForAppendingIsRefusedAndChangesNothing) {
  std::unique_ptr<SqliteStore> first = open();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(*first, 3));
  const auto second = SqliteStore::open(path_, Access::Append);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(second.errors()[0].text(),
              AllOf(HasSubstr("process " + std::to_string(getpid()) + " has it open for appending"),
                    HasSubstr("one controller at a time may; end that one, or give this one a "
                              "journal of its own")));
  EXPECT_EQ(open_error(Access::ReadOnly), "") << "others may read meanwhile";
  ASSERT_TRUE(first->sync());
  first.reset();
  EXPECT_FALSE(std::filesystem::exists(FileLock::path_of(path_)));
  EXPECT_EQ(open_error(), "");
}

TEST_F(StoreTest, TheLockOfAProcessThatWasKilledIsTakenOver) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto store = SqliteStore::open(path_, Access::Append);
    raise(store ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(FileLock::path_of(path_)));
  EXPECT_EQ(open_error(), "");
  EXPECT_FALSE(std::filesystem::exists(FileLock::path_of(path_)));
}

TEST_F(StoreTest, ALockIsHeldByOneAtATimeWhicheverProcessesComeAndGo) {
  // Processes take it and give it back; each notes itself in a file that only the holder may touch.
  const std::filesystem::path witness = folder_ / "witness";
  const std::uint64_t times = tests::count_of(15, 50);
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::uint64_t taken = 0; taken < times;) {
        const auto lock = FileLock::take(path_);
        if (!lock) continue;
        ++taken;
        if (mkdir(witness.c_str(), 0700) != 0) _exit(1);
        if (rmdir(witness.c_str()) != 0) _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "two held it at once";
  }
}

}  // namespace
}  // namespace orrery::runtime
