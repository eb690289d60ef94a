// The reader of Shockwave's traces.
#include "sim/shockwave/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/shockwave/shared_files.hpp"

namespace orrery::sim {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSound =
    "LM (batch size 10)\trun\tlm\t--steps\t1\t12000\t2\tgns\t1\t-1\t1418.5\t30\n"
    "ResNet-18 (batch size 32)\trun\tcifar\t--steps\t1\t1563\t1\taccordion\t2\t1.5\t60\t7\n";

TEST(ShockwaveTrace, ReadsJobsInTheOrderOfArrival) {
  const auto jobs = parse_shockwave_trace(kSound, "jobs.trace");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 2u);
  const AdaptiveSubmission& first = (*jobs)[0];
  EXPECT_EQ(first.line, 2u);
  EXPECT_EQ(first.submit, Instant::zero() + Duration::seconds(7));
  EXPECT_EQ(first.training.model, "ResNet-18");
  EXPECT_EQ(first.training.batch, 32);
  EXPECT_EQ(first.training.adaptation, BatchAdaptation::Accordion);
  EXPECT_EQ(first.training.epochs, 1) << "1563 steps are one epoch of 50000 examples";
  EXPECT_EQ(first.weight, 2);
  const AdaptiveSubmission& second = (*jobs)[1];
  EXPECT_EQ(second.training.gpus, 2);
  EXPECT_EQ(second.training.adaptation, BatchAdaptation::Gns);
  EXPECT_EQ(second.training.epochs, 3) << "12000 / 5968, rounded up";
  EXPECT_EQ(second.duration, Duration::from_seconds(1418.5));
}

/// What is said of the line with field `column` (from 0) replaced.
std::string said_with(std::size_t column, const std::string& text) {
  std::vector<std::string> fields{
      "LM (batch size 10)", "run", "lm", "--steps", "1", "12000", "2", "gns", "1", "-1", "60", "0"};
  fields[column] = text;
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + field;
  const auto jobs = parse_shockwave_trace("\n" + line + "\n", "jobs.trace");
  return jobs ? "" : jobs.errors().front().text();
}

TEST(ShockwaveTrace, RefusesWhatItCannotUse) {
  EXPECT_THAT(said_with(0, "LM"),
              HasSubstr("jobs.trace:2: job type: found 'LM', but a model and its batch"));
  EXPECT_THAT(said_with(0, "VGG (batch size 10)"), HasSubstr("of ResNet-18"));
  EXPECT_THAT(said_with(0, "LM (batch size 0)"), HasSubstr("job type"));
  EXPECT_THAT(said_with(5, "0"), HasSubstr("jobs.trace:2: steps"));
  EXPECT_THAT(said_with(6, "1.5"), HasSubstr("scale factor"));
  EXPECT_THAT(said_with(7, "dynamic"),
              HasSubstr("mode: found 'dynamic', but one of static, accordion, gns is needed"));
  EXPECT_THAT(said_with(8, "-1"), HasSubstr("priority weight"));
  EXPECT_THAT(said_with(10, "long"), HasSubstr("duration"));
  EXPECT_THAT(said_with(11, "-5"), HasSubstr("arrival time"));
  EXPECT_EQ(said_with(9, "1.2"), "");
}

TEST(ShockwaveTrace, ReportsEveryBrokenLine) {
  const auto jobs = parse_shockwave_trace("a\tb\n\nc\n", "jobs.trace");
  ASSERT_FALSE(jobs);
  ASSERT_EQ(jobs.errors().size(), 2u);
  EXPECT_EQ(jobs.errors()[0].line, 1);
  EXPECT_EQ(jobs.errors()[1].line, 3);
  EXPECT_FALSE(parse_shockwave_trace("", "jobs.trace"));
}

TEST(ShockwaveTrace, ReadsTheArtifactsTrace) {
  SKIP_WITHOUT_SHOCKWAVE();
  const auto jobs =
      parse_shockwave_trace(tests::shockwave_file("120_multigpu_dynamic.trace"), "120.trace");
  ASSERT_TRUE(jobs) << jobs.errors().front().text();
  EXPECT_EQ(jobs->size(), 120u);
}

}  // namespace
}  // namespace orrery::sim
