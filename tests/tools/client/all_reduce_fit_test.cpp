#include "tools/client/all_reduce_fit.hpp"

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace orrery::cli {
namespace {

std::vector<AllReduceSample> made(const AllReduceFit& known, double noise, std::uint64_t seed) {
  Random random = Random::stream(seed, "all-reduce");
  std::vector<AllReduceSample> out;
  for (const std::int32_t ranks : {2, 3, 4, 8})
    for (double bytes = 4096; bytes <= 16e6; bytes *= 4)
      out.push_back(
          {ranks, bytes, known.seconds(ranks, bytes) * (1 + random.uniform(-noise, noise))});
  return out;
}

TEST(AllReduceFit, FindsTheLatencyAndTheBandwidthBehindTimes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random = Random::stream(seed, "links");
    const AllReduceFit known{random.uniform(1e-6, 1e-3), random.uniform(1e8, 5e10), {}};
    const auto fit = fit_all_reduce(made(known, 0, seed));
    ASSERT_TRUE(fit) << "seed " << seed;
    EXPECT_NEAR(fit->latency_s / known.latency_s, 1, 1e-6) << "seed " << seed;
    EXPECT_NEAR(fit->bandwidth / known.bandwidth, 1, 1e-6) << "seed " << seed;
    ASSERT_TRUE(fit->held_out_error);
    EXPECT_NEAR(*fit->held_out_error, 0, 1e-9);
  }
}

TEST(AllReduceFit, IsAsRightAsTheTimesAre) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const AllReduceFit known{50e-6, 2e9, {}};
    const auto fit = fit_all_reduce(made(known, 0.1, seed));
    ASSERT_TRUE(fit) << "seed " << seed;
    EXPECT_NEAR(fit->latency_s / known.latency_s, 1, 0.1) << "seed " << seed;
    EXPECT_NEAR(fit->bandwidth / known.bandwidth, 1, 0.1) << "seed " << seed;
    EXPECT_LT(*fit->held_out_error, 0.12) << "seed " << seed;
  }
}

TEST(AllReduceFit, SaysNothingOfWhatTellsNothing) {
  EXPECT_FALSE(fit_all_reduce({}));
  EXPECT_FALSE(fit_all_reduce({{2, 4096, 1e-3}}));
  // One size: latency and bandwidth cannot be told apart.
  EXPECT_FALSE(fit_all_reduce({{2, 4096, 1e-3}, {2, 4096, 2e-3}}));
  // The more the faster.
  EXPECT_FALSE(fit_all_reduce({{2, 4096, 1e-2}, {2, 4e6, 1e-4}, {2, 1e6, 1e-3}}));
}

}  // namespace
}  // namespace orrery::cli
