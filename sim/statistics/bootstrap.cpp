#include "sim/statistics/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/percentile.hpp"
#include "core/base/random.hpp"
#include "sim/statistics/distributions.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kSamples = 10'000;
constexpr std::size_t kSamplesMin = 1'000;
constexpr std::size_t kDrawsMax = 20'000'000;

MeanInterval bootstrap_interval(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const std::size_t samples = std::clamp(kDrawsMax / values.size(), kSamplesMin, kSamples);
  Random random = Random::stream(0, "bootstrap");
  std::vector<double> means(samples);
  for (double& mean : means) {
    for (std::size_t i = 0; i < values.size(); ++i) mean += values[random.below(values.size())];
    mean /= count;
  }
  std::ranges::sort(means);
  const double tail =
      normal_below(-std::sqrt(count / (count - 1)) * student_975(values.size() - 1));
  return {percentile_of_sorted(std::span<const double>(means), tail),
          percentile_of_sorted(std::span<const double>(means), 1 - tail)};
}

}  // namespace

SeedEstimate estimate_over_seeds(std::span<const double> values) {
  SeedEstimate out{.seeds = values.size()};
  if (values.empty()) return out;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / count;
  if (values.size() < 2) return out;
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) {
    out.mean = values.front();
    out.half_width = 0;
    out.interval = MeanInterval{out.mean, out.mean};
    return out;
  }
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.half_width = student_975(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  out.interval = bootstrap_interval(values);
  return out;
}

}  // namespace orrery::sim
