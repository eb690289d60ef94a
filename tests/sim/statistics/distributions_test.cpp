#include "sim/statistics/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::sim {
namespace {

TEST(Distributions, TheNormalIsThatOfTheTables) {
  EXPECT_EQ(normal_below(0), 0.5);
  EXPECT_NEAR(normal_below(1), 0.841344746068542948585, 1e-15);
  EXPECT_NEAR(normal_below(-1.959963984540054), 0.025, 1e-15);
  EXPECT_EQ(normal_below(-40), 0);
  EXPECT_EQ(normal_below(40), 1);
  for (double x = -8; x <= 8; x += 0.01)
    EXPECT_NEAR(normal_below(x), std::erfc(-x / std::sqrt(2.0)) / 2, 2e-15) << x;
}

TEST(Distributions, StudentsPointIsThatOfTheTables) {
  // To nine decimals: degrees 1, 7, 9 and 30.
  EXPECT_NEAR(student_975(1), 12.706204736, 1e-9);
  EXPECT_NEAR(student_975(7), 2.3646242516, 1e-9);
  EXPECT_NEAR(student_975(9), 2.2621571628, 1e-9);
  EXPECT_NEAR(student_975(30), 2.0422724563, 1e-9);
  // Published to four decimals: degrees 31, 40, 60, 120, 1000.
  EXPECT_NEAR(student_975(31), 2.0395, 6e-5);
  EXPECT_NEAR(student_975(40), 2.0211, 6e-5);
  EXPECT_NEAR(student_975(60), 2.0003, 6e-5);
  EXPECT_NEAR(student_975(120), 1.9799, 6e-5);
  EXPECT_NEAR(student_975(1000), 1.9623, 6e-5);
  for (std::size_t freedom = 1; freedom < 400; ++freedom)
    EXPECT_GT(student_975(freedom), student_975(freedom + 1)) << freedom;
}

}  // namespace
}  // namespace orrery::sim
