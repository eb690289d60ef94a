#include "policies/pollux_reports.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/job/heard_ranks.hpp"

namespace orrery::policies {

namespace {

constexpr double kBatchMax = 1e9;  ///< Examples; more is no batch.

const ProfilingSeries* series_named(std::span<const ProfilingSeries> profilings,
                                    std::string_view key) {
  const auto found = std::find_if(
      profilings.begin(), profilings.end(), [&](const auto& series) { return series.key == key; });
  return found == profilings.end() ? nullptr : &*found;
}

/// The latest value of a key, whichever rank and generation reported it.
std::optional<double> latest(std::span<const ProfilingSeries> profilings, std::string_view key) {
  const ProfilingSeries* series = series_named(profilings, key);
  if (series == nullptr || series->samples.empty()) return std::nullopt;
  return series->samples.back().value;
}

/// The mean over the ranks of what each reported last in this generation.
std::optional<double> mean_now(std::span<const ProfilingSeries> profilings,
                               std::string_view key,
                               Generation generation) {
  const ProfilingSeries* series = series_named(profilings, key);
  if (series == nullptr) return std::nullopt;
  HeardRanks heard(series->samples.size());
  double sum = 0;
  for (auto sample = series->samples.rbegin(); sample != series->samples.rend(); ++sample) {
    if (sample->generation != generation) continue;
    const std::uint32_t known = heard.size();
    if (heard.hear(sample->rank) == known) sum += sample->value;
  }
  if (heard.size() == 0) return std::nullopt;
  return sum / static_cast<double>(heard.size());
}

int examples(std::optional<double> value, int otherwise) {
  if (!value || !(*value >= 1) || *value > kBatchMax) return otherwise;
  return static_cast<int>(std::floor(*value));
}

std::optional<ThroughputObservation> observation(std::span<const ProfilingSeries> profilings,
                                                 const JobRow& row,
                                                 int nodes) {
  const auto step_s = mean_now(profilings, "step_time_s", row.generation);
  const auto batch = mean_now(profilings, "batch_size", row.generation);
  auto compute_s = mean_now(profilings, "compute_time_s", row.generation);
  const auto sync_s = mean_now(profilings, "sync_time_s", row.generation);
  if (!step_s || !batch) return std::nullopt;
  if (!compute_s && sync_s) compute_s = *step_s - *sync_s;
  if (!compute_s || !(*compute_s > 0) || !(*step_s > 0) || !std::isfinite(*step_s + *compute_s))
    return std::nullopt;
  const double parts =
      row.replicas * (mean_now(profilings, "accum_steps", row.generation).value_or(0) + 1);
  if (!(parts >= 1) || !(*batch >= 1) || *batch > kBatchMax) return std::nullopt;
  const int atomic = std::max(1, static_cast<int>(std::floor(*batch / parts + 0.5)));
  return ThroughputObservation{{nodes, row.replicas}, atomic, *compute_s, *step_s};
}

}  // namespace

GoodputReport read_report(std::span<const ProfilingSeries> profilings,
                          const JobRow& row,
                          int nodes) {
  GoodputReport report;
  if (profilings.empty()) return report;
  if (row.replicas > 0 && nodes > 0) report.observed = observation(profilings, row, nodes);
  const auto sqr = latest(profilings, "grad_sqr");
  const auto var = latest(profilings, "grad_var");
  if (sqr && var && *sqr >= 0 && *var >= 0 && std::isfinite(*sqr + *var))
    report.stats = {*sqr, *var};
  const int batch = examples(latest(profilings, "batch_size"), 1);
  BatchLimits& limits = report.limits;
  limits.initial_total = examples(latest(profilings, "batch_size_initial"), batch);
  limits.total_max =
      std::max(examples(latest(profilings, "batch_size_max"), batch), limits.initial_total);
  limits.atomic_min = examples(latest(profilings, "local_batch_min"), 1);
  limits.atomic_max = std::max(examples(latest(profilings, "local_batch_max"), limits.total_max),
                               limits.atomic_min);
  return report;
}

}  // namespace orrery::policies
