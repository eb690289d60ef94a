#include "tools/orrery/progress.hpp"

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

const Progress kHalf{.runs_done = 1,
                     .runs_total = 4,
                     .jobs_done = 1500,
                     .jobs_total = 3000,
                     .events = 2'400'000,
                     .simulated_s = 90'000};

TEST(ProgressLine, SaysShareTimeLeftRunsJobsAndPace) {
  EXPECT_EQ(progress_line("compare", kHalf, 2, 200),
            "compare  [############............] 50%  ETA 2 s  1/4 runs  1,500/3,000 jobs  "
            "1 d 1 h simulated  1.20M events/s");
}

TEST(ProgressLine, FitsTheTerminal) {
  for (std::size_t columns = 0; columns < 120; ++columns) {
    const std::string line = progress_line("compare", kHalf, 2, columns);
    EXPECT_LE(line.size(), columns);
  }
}

TEST(ProgressLine, KnowsNothingAtTheStart) {
  EXPECT_EQ(progress_line("compare", {.runs_total = 2}, 0, 100),
            "compare  [........................] 0%  0/2 runs");
  EXPECT_EQ(progress_line("sim", {}, 70, 100), "sim  1 min 10 s") << "no share is known";
  EXPECT_EQ(progress_words("sim", {}, 70), "sim: after 1 min 10 s");
}

/// What a bar writes where standard error is no terminal.
class Piped {
 public:
  std::string after(double elapsed_s, const Progress& progress) {
    elapsed_s_ = elapsed_s;
    ::testing::internal::CaptureStderr();
    bar_.show(progress);
    return ::testing::internal::GetCapturedStderr();
  }

  ProgressBar& bar() { return bar_; }

 private:
  Console console_{ConsoleTraits{}};
  double elapsed_s_ = 0;
  ProgressBar bar_{console_, "compare", [this] { return elapsed_s_; }};
};

TEST(ProgressBar, SaysNothingOfShortWorkInAPipe) {
  Piped piped;
  piped.bar().note("fifo, seed 1: done");
  EXPECT_EQ(piped.after(0, kHalf), "");
  EXPECT_EQ(piped.after(9.9, kHalf), "");
}

TEST(ProgressBar, WritesALineNowAndThenInAPipe) {
  Piped piped;
  const std::string line =
      "compare: 50% after 10 s, ETA 10 s, 1/4 runs, 1,500/3,000 jobs, 1 d 1 h simulated, 240.0k "
      "events/s\n";
  EXPECT_EQ(piped.after(10, kHalf), line);
  EXPECT_EQ(piped.after(39, kHalf), "");
  EXPECT_NE(piped.after(40, kHalf), "");
}

TEST(ProgressBar, WritesWhatWasNotedBeforeItsFirstLineAndAtOnceAfterIt) {
  Piped piped;
  piped.bar().note("fifo, seed 1: done");
  EXPECT_TRUE(piped.after(10, kHalf).starts_with("compare: fifo, seed 1: done\ncompare: 50%"));
  piped.bar().note("srtf, seed 1: done");
  EXPECT_EQ(piped.after(12, kHalf), "compare: srtf, seed 1: done\n");
}

}  // namespace
}  // namespace orrery::cli
