// Journals of plain texts in SQLite files, in a folder of their own.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/sqlite_store.hpp"
#include "tests/runtime/store/payload_records.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::runtime {

/// A store in a fresh folder.
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("orrery-store-" + std::to_string(getpid()) + "-" + test->name());
    std::filesystem::create_directory(folder_);
    path_ = folder_ / "journal.db";
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  using Access = SqliteStore::Access;

  std::unique_ptr<SqliteStore> open(Access access = Access::Append,
                                    Pruning pruning = Pruning::Keep,
                                    Locking locking = Locking::Exclusive) {
    Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(path_, access, pruning, locking);
    EXPECT_TRUE(store.has_value()) << store.errors()[0].text();
    return std::move(store).value();
  }

  /// As where the lock does not hold, for example on a file system without locks.
  std::unique_ptr<SqliteStore> open_unlocked() {
    return open(Access::Append, Pruning::Keep, Locking::None);
  }

  std::string open_error(Access access = Access::Append) {
    const Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(path_, access);
    return store.has_value() ? "" : store.errors()[0].text();
  }

  void write_closed_journal(std::uint64_t count) {
    const std::unique_ptr<SqliteStore> store = open();
    Payloads payloads;
    ASSERT_TRUE(payloads.append(*store, count).has_value());
    ASSERT_TRUE(store->close().has_value());
  }

  void execute(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  std::string file_bytes() const { return text_of_file(path_); }

  void replace_file(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace orrery::runtime
