#include "tools/sweep/sweep_store.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "core/base/random.hpp"
#include "core/base/stream_text.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

class SweepStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "orrery-sweep-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }

  void TearDown() override { fs::remove_all(root_); }

  std::string folder() const { return (root_ / "out").string(); }

  SweepStore opened(const SweepIdentity& identity, SweepAccess access = SweepAccess::Alone) {
    auto store = SweepStore::open(folder(), identity, access);
    EXPECT_TRUE(store) << store.errors()[0].text();
    return std::move(*store);
  }

  std::string refusal(const SweepIdentity& identity) {
    const auto store = SweepStore::open(folder(), identity, SweepAccess::Alone);
    EXPECT_FALSE(store);
    return store ? "" : store.errors()[0].text();
  }

  fs::path cell(std::size_t number) const {
    return root_ / "out/cells" / ("00000" + std::to_string(number) + ".cell");
  }

  static std::string text_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return rest_of(in).value_or("");
  }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  fs::path root_;
};

SweepIdentity identity() {
  return {"/s.yaml", "/q.yaml", digest_of("s"), digest_of("q"), digest_of("p"), digest_of("i"), 9};
}

TEST_F(SweepStoreTest, WhatIsKeptIsFoundByTheNextProcess) {
  {
    const SweepStore store = opened(identity());
    EXPECT_FALSE(store.find(3));
    ASSERT_TRUE(store.keep(3, {ExitCode::Unmet, 1.5, std::string("an\0swer", 7)}));
  }
  const SweepStore store = opened(identity());
  const auto found = store.find(3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, ExitCode::Unmet);
  EXPECT_EQ(found->wall_s, 1.5);
  EXPECT_EQ(found->answer, std::string("an\0swer", 7));
  EXPECT_EQ(SweepStore::finished(folder(), identity()), (std::vector<std::size_t>{3}));
}

TEST_F(SweepStoreTest, ACellThatIsCutShortAnywhereOrChangedIsNone) {
  const SweepStore store = opened(identity());
  ASSERT_TRUE(store.keep(1, {ExitCode::Met, 2, "what the run said"}));
  const std::string whole = text_of(cell(1));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(cell(1), whole.substr(0, length));
    EXPECT_FALSE(store.find(1)) << length;
  }
  write(cell(1), whole + "x");
  EXPECT_FALSE(store.find(1));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    write(cell(1), changed);
    EXPECT_FALSE(store.find(1)) << at;
  }
  write(cell(2), whole);
  EXPECT_FALSE(store.find(2)) << "it is cell 1";
  write(cell(1), whole);
  EXPECT_TRUE(store.find(1));
}

TEST_F(SweepStoreTest, BytesOfAnyKindAreNoCell) {
  const SweepStore store = opened(identity());
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::string text;
    for (std::uint64_t left = random.below(200); left > 0; --left)
      text += static_cast<char>(random.below(256));
    write(cell(1), text);
    EXPECT_FALSE(store.find(1)) << "seed " << seed;
  }
}

TEST_F(SweepStoreTest, EachChangeIsRefusedByItsName) {
  { const SweepStore begun = opened(identity()); }
  SweepIdentity other = identity();
  other.file_text = digest_of("t");
  EXPECT_NE(refusal(other).find("since it was begun /s.yaml has changed"), std::string::npos);
  other.file = "/t.yaml";
  EXPECT_NE(refusal(other).find("is the folder of the sweep /s.yaml"), std::string::npos);
  other = identity();
  other.scenario_text = digest_of("r");
  EXPECT_NE(refusal(other).find("its scenario /q.yaml has changed"), std::string::npos);
  other = identity();
  other.program = digest_of("x");
  EXPECT_NE(refusal(other).find("another program"), std::string::npos);
  other = identity();
  other.inputs = digest_of("x");
  EXPECT_NE(refusal(other).find("a file that its scenario names has changed"), std::string::npos);
  // The same sweep by another way to its file.
  other = identity();
  other.file = "/link/s.yaml";
  EXPECT_TRUE(SweepStore::open(folder(), other, SweepAccess::Alone));
}

TEST_F(SweepStoreTest, OneSweepAtATimeAndAnyNumberOfProcessesBesideIt) {
  const SweepStore store = opened(identity());
  EXPECT_NE(refusal(identity()).find("another process runs this sweep now"), std::string::npos);
  const SweepStore beside = opened(identity(), SweepAccess::Beside);
  ASSERT_TRUE(beside.keep(4, {}));
  EXPECT_TRUE(store.find(4));
}

TEST_F(SweepStoreTest, FoldersOfOthersStayAsTheyAre) {
  fs::create_directories(folder());
  write(root_ / "out/thesis.tex", "years of work");
  EXPECT_NE(refusal(identity()).find("holds files that no sweep wrote"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 1);
  fs::remove_all(folder());
  write(folder(), "a file");
  EXPECT_NE(refusal(identity()).find("is no folder"), std::string::npos);
  EXPECT_EQ(text_of(folder()), "a file");
}

TEST_F(SweepStoreTest, AFolderThatWasJustBegunIsTakenUp) {
  fs::create_directories(folder());
  write(root_ / "out/.lock", "");
  write(root_ / "out/.orrery-sweep.host-1.half", "swe");
  const SweepStore store = opened(identity());
  EXPECT_TRUE(store.keep(1, {}));
  store.remove_halves();
  EXPECT_FALSE(fs::exists(root_ / "out/.orrery-sweep.host-1.half"));
  EXPECT_TRUE(store.find(1));
}

}  // namespace
}  // namespace orrery::cli
