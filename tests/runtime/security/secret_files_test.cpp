#include "runtime/security/secret_files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace {

using ::testing::UnorderedElementsAre;

mode_t mode_of(const std::string& path) {
  struct stat status {};

  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

std::vector<std::string> names_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename());
  return names;
}

TEST(SecretFiles, KeysAreReadByTheirOwnerAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_files({{folder.file("key"), "secret", true}, {folder.file("pem"), "open"}},
                          Existing::Refuse));
  EXPECT_EQ(mode_of(folder.file("key")), 0600U);
  EXPECT_EQ(mode_of(folder.file("pem")), 0644U);
  EXPECT_EQ(read_whole_file(folder.file("key")).value(), "secret");
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("key", "pem"));
}

TEST(SecretFiles, OneThatIsThereStopsAll) {
  const TemporaryFolder folder;
  ASSERT_TRUE(
      write_files({{folder.file("b"), "old"}, {folder.file("c"), "old"}}, Existing::Refuse));
  const Status again =
      write_files({{folder.file("a"), "new"}, {folder.file("b"), "new"}, {folder.file("c"), "new"}},
                  Existing::Refuse);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.errors().size(), 2U);
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("b", "c"));
  EXPECT_EQ(read_whole_file(folder.file("b")).value(), "old");
}

TEST(SecretFiles, AreReplacedWhereThatIsWanted) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_files({{folder.file("a"), "old", false}}, Existing::Refuse));
  ASSERT_TRUE(write_files({{folder.file("a"), "new", true}}, Existing::Replace));
  EXPECT_EQ(read_whole_file(folder.file("a")).value(), "new");
  EXPECT_EQ(mode_of(folder.file("a")), 0600U);
}

TEST(SecretFiles, NothingIsLeftWhereOneCannotBeWritten) {
  const TemporaryFolder folder;
  const Status written =
      write_files({{folder.file("a"), "x"}, {folder.file("none/b"), "x"}}, Existing::Refuse);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.errors()[0].text(), ::testing::HasSubstr("No such file or directory"));
  EXPECT_TRUE(names_in(folder).empty());
}

}  // namespace
}  // namespace orrery::runtime
