#include "sim/results/time_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace orrery::sim {
namespace {

std::string six(std::int64_t ns) {
  std::string out;
  append_seconds_6(ns, out);
  return out;
}

std::string exact(std::int64_t ns) {
  std::string out;
  append_seconds_exact(ns, out);
  return out;
}

TEST(TimeText, SixDecimalsRoundedToTheMicrosecond) {
  EXPECT_EQ(six(0), "0.000000");
  EXPECT_EQ(six(499), "0.000000");
  EXPECT_EQ(six(500), "0.000001");
  EXPECT_EQ(six(-499), "0.000000");
  EXPECT_EQ(six(-500), "-0.000001");
  EXPECT_EQ(six(1'000'000'000), "1.000000");
  EXPECT_EQ(six(-1'000'000'000), "-1.000000");
  EXPECT_EQ(six(88'510'000'000), "88.510000");
  EXPECT_EQ(six(999'999'999'999), "1000.000000");
  EXPECT_EQ(six(std::numeric_limits<std::int64_t>::max()), "9223372036.854776");
}

TEST(TimeText, ExactHasAsFewDecimalsAsNeeded) {
  EXPECT_EQ(exact(0), "0");
  EXPECT_EQ(exact(1), "0.000000001");
  EXPECT_EQ(exact(1'500'000'000), "1.5");
  EXPECT_EQ(exact(60'000'000'000), "60");
  EXPECT_EQ(exact(-250'000'000), "-0.25");
  EXPECT_EQ(exact(std::numeric_limits<std::int64_t>::min()), "-9223372036.854775808");
}

}  // namespace
}  // namespace orrery::sim
