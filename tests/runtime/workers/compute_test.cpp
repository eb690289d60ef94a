// The CPU's matrix products, and that a wrong entry is found.
#include "runtime/workers/compute.hpp"

#include <gtest/gtest.h>

#include "runtime/workers/cpu_compute.hpp"

namespace orrery::worker {
namespace {

TEST(CpuComputeTest, ProductsAgreeWithTheDefinition) {
  for (const std::int32_t size : {1, 2, 63, 64, 65, 130}) {
    const auto compute = make_cpu_compute(size, 3);
    ASSERT_TRUE(compute->multiply().ok());
    const std::vector<float> own = own_matrix(size, 3);
    const std::vector<float> shared = shared_matrix(size);
    const auto n = static_cast<std::size_t>(size);
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k)
          sum += static_cast<double>(own[row * n + k]) * shared[k * n + column];
        ASSERT_NEAR(compute->product()[row * n + column], sum, 1e-5) << size;
      }
  }
}

TEST(CpuComputeTest, EntriesStayInTheirRangeOverManySteps) {
  const auto compute = make_cpu_compute(32, 0);
  for (int step = 0; step < 200; ++step) {
    ASSERT_TRUE(compute->multiply().ok());
    ASSERT_TRUE(compute->share(1).ok());
  }
  std::vector<float> shared(32 * 32);
  ASSERT_TRUE(compute->read_shared(shared).ok());
  EXPECT_TRUE(check_entries(shared).ok());
  // Averaging again and again brings all rows together.
  const Digest digest = digest_of(shared);
  EXPECT_GT(digest.low, 0);
  EXPECT_LT(digest.high, 1);
  EXPECT_NEAR(digest.mean, 0.5, 0.1);
}

TEST(CpuComputeTest, RanksHaveDifferentMatricesAndShareOne) {
  EXPECT_NE(own_matrix(8, 0), own_matrix(8, 1));
  EXPECT_EQ(shared_matrix(8), shared_matrix(8));
}

TEST(ComputeTest, AWrongEntryIsNamed) {
  std::vector<float> entries(10, 0.5F);
  EXPECT_TRUE(check_entries(entries).ok());
  entries[7] = 1.5F;
  const Outcome wrong = check_entries(entries);
  EXPECT_EQ(wrong.kind, OutcomeKind::Fatal);
  EXPECT_NE(wrong.reason.find("entry 7"), std::string::npos);
  entries[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(check_entries(entries).ok());
}

}  // namespace
}  // namespace orrery::worker
