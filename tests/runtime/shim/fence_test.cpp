#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/runtime/shim/worker_folder.hpp"

namespace orrery::runtime {
namespace {

/// The margin that agents leave by default between their own lease and the controller's.
constexpr Duration kMargin = Duration::seconds(2);

class FenceTest : public ::testing::Test {
 protected:
  void start_witness() {
    folder_.launch().command = {ORRERY_WORKER_IN_TEST, "witness", folder_.path("witness")};
    folder_.start();
    ASSERT_TRUE(eventually([&] {
      renew();
      return last_word().ns > 0;
    }));
  }

  void renew() { folder_.hold_lease(Duration::seconds(1)); }

  /// When the worker was last seen alive by itself.
  Instant last_word() const {
    const std::string text = text_of_file(folder_.path("witness"));
    return text.size() == 20 ? Instant{std::stoll(text)} : Instant{};
  }

  WorkerFolder folder_{"fence"};
};

TEST_F(FenceTest, ALeaseThatIsNotRenewedEndsTheWorkerWithinTheMargin) {
  renew();
  start_witness();
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->kind, EndKind::Fenced);
  const Duration late = last_word() - folder_.lease_end();
  RecordProperty("late_ms", static_cast<int>(late.ns / 1'000'000));
  EXPECT_LT(late, kMargin) << "the controller may place anew from there";
  EXPECT_FALSE(is_alive(folder_.processes().worker));
}

TEST_F(FenceTest, RenewalsKeepItAlive) {
  renew();
  start_witness();
  const Instant first_end = folder_.lease_end();
  EXPECT_TRUE(eventually([&] {
    renew();
    return last_word() > first_end;
  }));
  EXPECT_FALSE(folder_.status());
  // Renewed for the last time.
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->kind, EndKind::Fenced);
}

TEST_F(FenceTest, AnOlderEpochDoesNotRenew) {
  renew();
  start_witness();
  LeaseFile lease = LeaseFile::for_writing(folder_.path("lease"));
  lease.write({Epoch{0}, boot_time() + Duration::seconds(600)});
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->kind, EndKind::Fenced);
}

TEST_F(FenceTest, NothingStartsWithoutALease) {
  folder_.hold_lease(Duration::milliseconds(-1));
  folder_.start("echo ran > " + folder_.path("ran"));
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->kind, EndKind::Fenced);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ran")));
}

TEST_F(FenceTest, NothingStartsWithoutALeaseFile) {
  std::filesystem::remove(folder_.path("lease"));
  folder_.start("echo ran > " + folder_.path("ran"));
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->kind, EndKind::Fenced);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ran")));
}

class LeaseFileTest : public ::testing::Test {
 protected:
  std::string path() const { return (scratch_.path() / "lease").string(); }

  /// Damages one byte.
  void flip(std::size_t at) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
  }

  Scratch scratch_{"lease"};
};

TEST_F(LeaseFileTest, AnEmptyFileIsALeaseThatIsOver) {
  const LeaseFile lease = LeaseFile::for_writing(path());
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease.read().until, Instant::zero());
  EXPECT_FALSE(LeaseFile::for_reading(path() + "x").ok());
}

TEST_F(LeaseFileTest, ReadersSeeTheNewestNote) {
  LeaseFile writer = LeaseFile::for_writing(path());
  const LeaseFile reader = LeaseFile::for_reading(path());
  for (int i = 1; i <= 5; ++i) {
    writer.write({Epoch{3}, Instant{i}});
    EXPECT_EQ(reader.read().until, Instant{i});
    EXPECT_EQ(reader.read().epoch, Epoch{3});
  }
  LeaseFile again = LeaseFile::for_writing(path());
  EXPECT_EQ(again.read().until, Instant{5});
}

TEST_F(LeaseFileTest, ANoteThatWasTornLeavesTheOneBefore) {
  {
    LeaseFile writer = LeaseFile::for_writing(path());
    writer.write({Epoch{1}, Instant{10}});
    writer.write({Epoch{1}, Instant{20}});
  }
  // The second note lies behind the first one's 40 bytes; any byte of it may be the torn one.
  for (std::size_t at = 40; at < 80; ++at) {
    flip(at);
    EXPECT_EQ(LeaseFile::for_reading(path()).read().until, Instant{10}) << "byte " << at;
    flip(at);
    EXPECT_EQ(LeaseFile::for_reading(path()).read().until, Instant{20});
  }
}

}  // namespace
}  // namespace orrery::runtime
