// A file that is written has its old or its new bytes, whole.
#include "tools/console/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(WholeFile, IsMadeAndReplacedWithItsRights) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a.yaml");
  ASSERT_TRUE(write_whole_file(path, "one"));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_whole_file(path, "two"));
  EXPECT_EQ(bytes_of(path), "two");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files_in(path.parent_path()), 1U);
}

TEST(WholeFile, BehindALinkIsReplacedAndTheLinkStays) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a.yaml");
  ASSERT_TRUE(write_whole_file(path, "one"));
  fs::create_symlink(path, folder.file("link"));
  ASSERT_TRUE(write_whole_file(folder.file("link"), "two"));
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(bytes_of(path), "two");
}

TEST(WholeFile, KeepsItsBytesWhereTheNewOnesHaveNoRoom) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a.yaml");
  ASSERT_TRUE(write_whole_file(path, "one"));
  // A limit of the process stands for the disk's.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool written = write_whole_file(path, std::string(100'000, 'x'));
  const int why = errno;
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(written);
  EXPECT_EQ(why, EFBIG);
  EXPECT_EQ(bytes_of(path), "one");
  EXPECT_EQ(files_in(path.parent_path()), 1U) << "nothing unfinished is left";
}

TEST(WholeFile, WhatIsNoFileIsWrittenTo) { EXPECT_TRUE(write_whole_file("/dev/null", "one")); }

TEST(WholeFile, WithoutAFolderIsRefused) {
  const TemporaryFolder folder;
  EXPECT_FALSE(write_whole_file(folder.file("none/a.yaml"), "one"));
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace orrery::cli
