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
  EXPECT_EQ(progress_line("sim", {}, 0, 100), "sim  [........................] 0%");
}

TEST(ProgressBar, IsSilentWhereNobodyLooks) {
  Console console{ConsoleTraits{}};
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar(console, "sim");
    bar.show(kHalf);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace orrery::cli
