#include "tools/orrery/output_folder.hpp"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/support/text_of_file.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// A folder of the test's own, removed at its end.
class OutputFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) /
            ("orrery-" + std::string(info->name()) + "-" + std::to_string(getpid()));
    fs::create_directories(root_);
  }

  void TearDown() override { fs::remove_all(root_); }

  std::string target() const { return (root_ / "out").string(); }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }

  /// One finished run that leaves one file.
  void finish_with(const std::string& text) const {
    auto folder = OutputFolder::prepare(target());
    ASSERT_TRUE(folder);
    ASSERT_TRUE(write_file(folder->scratch() / "summary.json", text));
    ASSERT_TRUE(folder->finish());
  }

  std::string content() const { return text_of_file(root_ / "out" / "summary.json"); }

  fs::path root_;
};

TEST_F(OutputFolderTest, NothingIsThereUntilItIsFinished) {
  {
    auto folder = OutputFolder::prepare(target());
    ASSERT_TRUE(folder);
    ASSERT_TRUE(write_file(folder->scratch() / "summary.json", "half"));
    EXPECT_FALSE(fs::exists(target()));
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(OutputFolderTest, AFolderThatHoldsWhatIsReadIsNotReplaced) {
  finish_with("one");
  const std::string input = (root_ / "out" / "." / "summary.json").string();
  const auto refused = OutputFolder::prepare(target() + "/", {"none", input});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors().front().message,
            target() + "/ holds " + input +
                ", which is read and would be replaced; name another "
                "folder");
  EXPECT_FALSE(OutputFolder::prepare_to_resume(target(), {input}));
  EXPECT_FALSE(keeps_inputs(input, {target() + "/summary.json"})) << "the file itself";
  EXPECT_TRUE(OutputFolder::prepare(target() + "2", {input})) << "beside it";
  EXPECT_EQ(content(), "one");
}

TEST_F(OutputFolderTest, ARunReplacesTheFolderOfAnEarlierOne) {
  finish_with("one");
  finish_with("two");
  EXPECT_EQ(content(), "two");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFolderTest, AnUnfinishedRunLeavesTheEarlierOneAsItWas) {
  finish_with("one");
  { ASSERT_TRUE(OutputFolder::prepare(target())); }
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(entries(), 1U);
}

// A process that is killed meanwhile leaves a folder that is known to be of an earlier run.
TEST_F(OutputFolderTest, TheMarkOfAnUnfinishedRunIsRemovedLast) {
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(watch, 0);
  {
    auto folder = OutputFolder::prepare_to_resume(target());
    ASSERT_TRUE(folder);
    for (const char* name : {".a", "a", "summary.json", "z"})
      ASSERT_TRUE(write_file(folder->scratch() / name, "half"));
    ASSERT_GE(inotify_add_watch(watch, folder->scratch().c_str(), IN_DELETE), 0);
  }
  EXPECT_EQ(entries(), 0U);
  alignas(inotify_event) char events[4096];
  const ssize_t size = read(watch, events, sizeof events);
  close(watch);
  std::vector<std::string> removed;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(events + at);
    if (event->len > 0) removed.emplace_back(event->name);
    at += static_cast<ssize_t>(sizeof *event + event->len);
  }
  ASSERT_EQ(removed.size(), 6U) << "with the lock";
  EXPECT_EQ(removed.back(), ".orrery-results");
}

TEST_F(OutputFolderTest, AForeignFolderIsRefused) {
  fs::create_directory(target());
  ASSERT_TRUE(write_file(fs::path(target()) / "thesis.tex", "years of work"));
  const auto folder = OutputFolder::prepare(target());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.errors().front().code, ErrorCode::Conflict);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFolderTest, AFileInItsPlaceIsRefused) {
  ASSERT_TRUE(write_file(target(), "text"));
  EXPECT_FALSE(OutputFolder::prepare(target()));
}

TEST_F(OutputFolderTest, AnEmptyFolderAndATrailingSlashAreFine) {
  fs::create_directory(target());
  auto folder = OutputFolder::prepare(target() + "/");
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->finish());
  EXPECT_TRUE(fs::is_directory(target()));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFolderTest, FoldersAboveAreMade) {
  auto folder = OutputFolder::prepare((root_ / "a" / "b" / "out").string());
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->finish());
  EXPECT_TRUE(fs::is_directory(root_ / "a" / "b" / "out"));
}

}  // namespace
}  // namespace orrery::cli
