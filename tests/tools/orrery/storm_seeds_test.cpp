#include "tools/orrery/storm_seeds.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// What a seed gives is a function of the seed, so that sums can be told beforehand.
SeedOutcome plain(std::uint64_t seed) {
  SeedOutcome out;
  out.events = seed;
  out.records = 2 * seed;
  out.leaders = 1;
  out.simulated = Duration::seconds(static_cast<std::int64_t>(seed));
  reached(Mark::AgentFenced);
  if (seed % 2 == 0) reached(Mark::LivenessLoss);
  return out;
}

SeedOutcome broken(std::uint64_t seed) {
  SeedOutcome out = plain(seed);
  out.findings.push_back({seed, "liveness", Instant::zero(), "planted"});
  return out;
}

StormWork work_of(SeedRange seeds, RunSeed run) {
  StormWork work;
  work.seeds = seeds;
  work.parallel = 3;
  work.run = std::move(run);
  return work;
}

void expect_sums(const StormFigures& figures, std::uint64_t first, std::uint64_t last) {
  std::uint64_t sum = 0;
  std::uint64_t even = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    sum += seed;
    even += seed % 2 == 0 ? 1 : 0;
  }
  EXPECT_EQ(figures.seeds, last - first + 1);
  EXPECT_EQ(figures.events, sum);
  EXPECT_EQ(figures.records, 2 * sum);
  EXPECT_EQ(figures.simulated_us, sum * 1'000'000);
  EXPECT_EQ(figures.marks.at(static_cast<std::size_t>(Mark::AgentFenced)), figures.seeds);
  EXPECT_EQ(figures.mark_seeds.at(static_cast<std::size_t>(Mark::LivenessLoss)), even);
}

class StormSeedsTest : public testing::Test {
 protected:
  StormSeedsTest() {
    std::string name = (fs::temp_directory_path() / "orrery-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }

  ~StormSeedsTest() override { fs::remove_all(folder_); }

  fs::path file() const { return folder_ / "seeds.progress"; }

  // One line for each run of a seed: what processes leave behind, however they end.
  void note(std::uint64_t seed) const {
    std::ofstream(folder_ / "runs", std::ios::app) << seed << "\n";
  }

  std::vector<std::uint64_t> runs() const {
    std::vector<std::uint64_t> out;
    std::ifstream in(folder_ / "runs");
    for (std::uint64_t seed = 0; in >> seed;) out.push_back(seed);
    std::sort(out.begin(), out.end());
    return out;
  }

  fs::path folder_;
};

TEST_F(StormSeedsTest, SumsOfAllProcessesAddUp) {
  const StormDone done = run_storm_seeds(work_of({7, 2006}, plain));
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.resumed, 0U);
  expect_sums(done.figures, 7, 2006);
  EXPECT_TRUE(done.figures.findings.empty());
}

TEST_F(StormSeedsTest, ASeedThatEndsItsProcessIsFoundAndTheOthersAreCounted) {
  const StormDone done = run_storm_seeds(work_of({1, 300}, [](std::uint64_t seed) {
    if (seed == 130 || seed == 131) (void)raise(SIGSEGV);
    if (seed == 200) _exit(3);
    if (seed == 250) throw std::runtime_error("thrown on purpose by the test");
    return plain(seed);
  }));
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.figures.seeds, 300U);
  ASSERT_EQ(done.figures.findings.size(), 4U);
  const std::vector<std::uint64_t> planted{130, 131, 200, 250};
  for (std::size_t i = 0; i < planted.size(); ++i) {
    EXPECT_EQ(done.figures.findings[i].seed, planted[i]);
    EXPECT_EQ(done.figures.findings[i].kind, kProcessEnded);
  }
  EXPECT_NE(done.figures.findings[2].text.find("code 3"), std::string::npos);
  EXPECT_EQ(done.figures.marks.at(static_cast<std::size_t>(Mark::AgentFenced)), 296U);
}

TEST_F(StormSeedsTest, OneThatEndsItsProcessOnlyBehindOthersIsToldSo) {
  const StormDone done =
      run_storm_seeds(work_of({1, 100}, [ran_any = false](std::uint64_t seed) mutable {
        if (seed == 20 && ran_any) (void)raise(SIGSEGV);
        ran_any = true;
        return plain(seed);
      }));
  expect_sums(done.figures, 1, 100);
  ASSERT_EQ(done.figures.findings.size(), 1U);
  EXPECT_EQ(done.figures.findings[0].seed, 20U);
  EXPECT_EQ(done.figures.findings[0].kind, kProcessEnded);
  EXPECT_NE(done.figures.findings[0].text.find("this seed alone does"), std::string::npos);
}

TEST_F(StormSeedsTest, OneThatRunsForEverIsEnded) {
  StormWork work = work_of({1, 8}, [](std::uint64_t seed) {
    volatile bool for_ever = seed == 5;
    while (for_ever) {
    }
    return plain(seed);
  });
  work.seed_processor_s = 1;
  const StormDone done = run_storm_seeds(work);
  EXPECT_TRUE(done.complete);
  ASSERT_EQ(done.figures.findings.size(), 1U);
  EXPECT_EQ(done.figures.findings[0].seed, 5U);
}

TEST_F(StormSeedsTest, FindingsOfWhatWasSpoiledCountOnceAndInOrder) {
  const StormDone done = run_storm_seeds(work_of({1, 200}, [](std::uint64_t seed) {
    if (seed % 40 != 0) return plain(seed);
    SeedOutcome out = broken(seed);
    out.spoils_process = true;
    return out;
  }));
  expect_sums(done.figures, 1, 200);
  std::vector<std::uint64_t> seeds;
  for (const StormFinding& finding : done.figures.findings) seeds.push_back(finding.seed);
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{40, 80, 120, 160, 200}));
}

TEST_F(StormSeedsTest, GoesOnWhereItStopped) {
  const auto run = [this](std::uint64_t seed) {
    note(seed);
    return seed == 3 || seed == 390 ? broken(seed) : plain(seed);
  };
  StormWork part = work_of({1, 400}, run);
  part.parallel = 1;
  part.progress_file = file();
  part.program = digest_of("one");
  // Neither a clock nor a signal: it stops after a number of seeds.
  part.go_on = [this] { return runs().size() < 123; };
  const StormDone first = run_storm_seeds(part);
  EXPECT_FALSE(first.complete);
  EXPECT_EQ(first.figures.seeds, 123U);

  part.go_on = [] { return true; };
  part.parallel = 3;
  const StormDone second = run_storm_seeds(part);
  EXPECT_TRUE(second.complete);
  EXPECT_EQ(second.resumed, 123U);
  expect_sums(second.figures, 1, 400);
  ASSERT_EQ(second.figures.findings.size(), 2U);
  EXPECT_EQ(second.figures.findings[0].seed, 3U);
  EXPECT_EQ(second.figures.findings[1].seed, 390U);
  EXPECT_EQ(runs().size(), 400U) << "no seed is run twice";
}

TEST_F(StormSeedsTest, ResultsOfAnotherProgramOrOfDamagedFilesDoNotCount) {
  StormWork work = work_of({1, 50}, plain);
  work.progress_file = file();
  work.program = digest_of("one");
  (void)run_storm_seeds(work);
  EXPECT_EQ(run_storm_seeds(work).resumed, 50U);
  work.program = digest_of("another");
  EXPECT_EQ(run_storm_seeds(work).resumed, 0U);
  fs::resize_file(file(), fs::file_size(file()) - 1);
  const StormDone again = run_storm_seeds(work);
  EXPECT_EQ(again.resumed, 0U);
  expect_sums(again.figures, 1, 50);
}

TEST_F(StormSeedsTest, StopsWhereTooMuchIsBroken) {
  const StormDone done = run_storm_seeds(work_of({1, 50'000}, broken));
  EXPECT_FALSE(done.complete);
  EXPECT_GE(done.figures.findings.size(), kStormFindingsMax);
  EXPECT_LT(done.figures.seeds, 50'000U);
}

}  // namespace
}  // namespace orrery::cli
