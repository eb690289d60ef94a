// What was foretold and what came, over restarts and bad files.

#include "runtime/forecast/accuracy_book.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace accuracy_book_tests {

ForecastOutcome outcome(std::uint32_t job, std::int64_t foretold_s, std::int64_t started_s) {
  ForecastOutcome out;
  out.job = JobId{job};
  out.name = "default.job-" + std::to_string(job);
  out.submitted = Instant{} + Duration::seconds(100);
  out.foretold_at = Instant{} + Duration::seconds(101);
  out.foretold = Instant{} + Duration::seconds(foretold_s);
  out.started = started_s == 0 ? Instant::never() : Instant{} + Duration::seconds(started_s);
  return out;
}

TEST(AccuracyBook, MeasuresTheErrorOverTheTimeWaitedAMinuteAtLeast) {
  EXPECT_DOUBLE_EQ(outcome(1, 300, 500).error(), 200.0 / 400);
  EXPECT_DOUBLE_EQ(outcome(1, 106, 103).error(), 3.0 / 60);
}

TEST(AccuracyBook, KeepsWhatCameAndWhatIsStillToCome) {
  const TemporaryFolder folder;
  const std::string file = folder.file("forecasts");
  {
    AccuracyBook book(file);
    ASSERT_TRUE(book.open());
    book.foretold(outcome(1, 300, 0));
    book.foretold(outcome(1, 900, 0));  // Later forecasts do not count.
    book.foretold(outcome(2, 300, 0));
    book.note(outcome(1, 300, 500));
  }
  std::ofstream(file, std::ios::app) << "3 1 2\nnonsense\n7 100 101 cut";
  for (int life = 0; life < 2; ++life) {
    AccuracyBook book(file);
    ASSERT_TRUE(book.open());
    const ForecastAccuracy told = book.accuracy();
    EXPECT_EQ(told.outcomes, 1U);
    EXPECT_EQ(told.waiting, 1U);
    EXPECT_TRUE(book.knows(JobId{2}));
    EXPECT_DOUBLE_EQ(told.error_p50, 0.5);
    ASSERT_EQ(told.latest.size(), 1U);
    EXPECT_EQ(told.latest[0].name, "default.job-1");
  }
}

// Names of jobs stand in it; the journal beside it is its owner's, too.
TEST(AccuracyBook, IsForItsOwnerAlone) {
  const TemporaryFolder folder;
  const std::string file = folder.file("forecasts");
  constexpr auto kOwner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  const auto mode = [&] { return std::filesystem::status(file).permissions(); };
  std::ofstream(file) << "";
  std::ofstream(file + ".new") << "";
  AccuracyBook book(file);
  ASSERT_TRUE(book.open());
  EXPECT_EQ(mode(), kOwner);
  std::filesystem::remove(file);
  book.foretold(outcome(1, 300, 0));
  EXPECT_EQ(mode(), kOwner);
}

TEST(AccuracyBook, TellsQuantilesByTheOneDefinition) {
  AccuracyBook book("");
  book.note(outcome(1, 301, 300));
  book.note(outcome(2, 400, 300));
  const ForecastAccuracy told = book.accuracy();
  EXPECT_DOUBLE_EQ(told.error_s_p50, 50.5);
  EXPECT_DOUBLE_EQ(told.error_s_p90, 90.1);
  EXPECT_DOUBLE_EQ(told.error_p50, 50.5 / 200);
  EXPECT_DOUBLE_EQ(told.error_p90, 90.1 / 200);
}

TEST(AccuracyBook, SaysWhereItCannotKeepThem) {
  AccuracyBook book("/nowhere/at/all/forecasts");
  const Status opened = book.open();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.errors()[0].text().find("/nowhere/at/all/forecasts"), std::string::npos);
  book.foretold(outcome(1, 300, 0));
  EXPECT_EQ(book.waiting(), 1U);
}

TEST(AccuracyBook, ForgetsJobsThatAreGone) {
  AccuracyBook book("");
  book.foretold(outcome(1, 300, 0));
  const State nothing;
  EXPECT_TRUE(book.look(nothing).empty());
  EXPECT_EQ(book.waiting(), 0U);
}

}  // namespace accuracy_book_tests
}  // namespace orrery::runtime
