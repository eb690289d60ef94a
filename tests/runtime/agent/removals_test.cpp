// Folders that an agent removes a little at a time.
#include "runtime/agent/removals.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/runtime/shim/observing.hpp"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

class RemovalsTest : public testing::Test {
 protected:
  fs::path removed() const { return scratch_.path() / "removed"; }

  /// A folder with so many files, half of them in one below it.
  fs::path folder_of(int files) {
    const fs::path folder = scratch_.path() / "worker";
    fs::create_directories(folder / "work");
    for (int i = 0; i < files; ++i)
      std::ofstream(folder / (i % 2 == 0 ? "" : "work") / std::to_string(i)) << i;
    return folder;
  }

  long entries_left() const {
    std::error_code none;
    return std::distance(fs::recursive_directory_iterator(removed(), none),
                         fs::recursive_directory_iterator());
  }

  Scratch scratch_{"removals"};
};

TEST_F(RemovalsTest, APathIsFreeAtOnceAndItsEntriesGoByAndBy) {
  Removals removals(removed().string());
  const fs::path folder = folder_of(100);
  removals.take(folder.string());
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(entries_left(), 102);
  for (long left = 102; left > 10; left -= 10) {
    removals.go_on(10);
    EXPECT_EQ(entries_left(), left - 10);
    EXPECT_FALSE(removals.empty());
  }
  removals.go_on(10);
  EXPECT_TRUE(removals.empty());
  EXPECT_FALSE(fs::exists(removed())) << "nothing is left of it";
}

TEST_F(RemovalsTest, SeveralOfOneNameGo) {
  Removals removals(removed().string());
  for (int i = 0; i < 3; ++i) removals.take(folder_of(4).string());
  removals.take((scratch_.path() / "nothing").string());
  EXPECT_EQ(entries_left(), 3 * 6);
  removals.go_on(1000);
  EXPECT_TRUE(removals.empty());
  EXPECT_EQ(entries_left(), 0);
}

TEST_F(RemovalsTest, TheNextLifeGoesOn) {
  {
    Removals removals(removed().string());
    removals.take(folder_of(20).string());
    removals.go_on(5);
  }
  Removals removals(removed().string());
  EXPECT_FALSE(removals.empty());
  removals.take(folder_of(20).string());
  removals.go_on(1000);
  EXPECT_TRUE(removals.empty());
  EXPECT_FALSE(fs::exists(removed()));
}

TEST_F(RemovalsTest, WhatALinkNamesStays) {
  Removals removals(removed().string());
  const fs::path kept = scratch_.path() / "kept";
  fs::create_directories(kept);
  std::ofstream(kept / "file") << "data";
  const fs::path folder = folder_of(2);
  fs::create_directory_symlink(kept, folder / "link");
  removals.take(folder.string());
  removals.go_on(1000);
  EXPECT_TRUE(removals.empty());
  EXPECT_TRUE(fs::exists(kept / "file"));
}

}  // namespace
}  // namespace orrery::runtime
