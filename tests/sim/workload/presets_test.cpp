#include "scenarios/language/spec/presets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/workload/generator.hpp"

namespace orrery::sim {
namespace {

using scenarios::philly_like;
using scenarios::preset_by_name;
using scenarios::preset_names;

TEST(Presets, EveryNameGivesAValidSpec) {
  for (const std::string_view name : preset_names()) {
    const auto spec = preset_by_name(name);
    ASSERT_TRUE(spec.has_value()) << name;
    EXPECT_TRUE(check(*spec).empty()) << name;
  }
  EXPECT_FALSE(preset_by_name("philly").has_value());
}

// The published figures: median 1,144 s, 90% 11,265 s, 99% 254,758 s, 13,136 s on average, and
// 978,078 GPU hours over 82,247 jobs.
TEST(Presets, PhillyLikeJobsHaveThePublishedStatistics) {
  GeneratorSpec spec = philly_like();
  spec.seed = 4;
  spec.jobs = 82'247 * 4;
  JobStream stream(spec);
  std::vector<double> durations;
  double sum = 0.0;
  double gpu_hours = 0.0;
  int singles = 0;
  while (const auto job = stream.next()) {
    durations.push_back(job->duration.in_seconds());
    sum += durations.back();
    gpu_hours += job->gpus * durations.back() / 3600;
    singles += static_cast<int>(job->gpus == 1);
  }
  std::sort(durations.begin(), durations.end());
  const std::size_t n = durations.size();
  EXPECT_NEAR(durations[n / 2], 1'144, 0.05 * 1'144) << "seed 4";
  EXPECT_NEAR(durations[n * 9 / 10], 11'265, 0.10 * 11'265) << "seed 4";
  EXPECT_NEAR(durations[n * 99 / 100], 254'758, 0.15 * 254'758) << "seed 4";
  EXPECT_NEAR(sum / static_cast<double>(n), 13'136, 0.05 * 13'136) << "seed 4";
  EXPECT_NEAR(gpu_hours / 4, 978'078, 0.06 * 978'078) << "seed 4";
  EXPECT_NEAR(static_cast<double>(singles) / static_cast<double>(n), 76'627.0 / 82'247, 0.003);
}

}  // namespace
}  // namespace orrery::sim
