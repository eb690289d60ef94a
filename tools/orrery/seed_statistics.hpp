// What several seeds of one policy say together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "sim/results/summary.hpp"

namespace orrery::cli {

/// A mean with half the width of its 95 percent interval.
struct Estimate {
  double mean = 0;
  double half_width = 0;  ///< 0 where there is one value only.
};

/// Mean and Student's interval: t(n - 1) * s / sqrt(n), s with n - 1 in the denominator.
Estimate estimate_of(std::span<const double> values);

/// The runs of one policy.
struct PolicyStatistics {
  std::string policy;
  std::uint64_t seeds = 0;
  Estimate jct_avg_s;
  Estimate jct_p50_s;
  Estimate jct_p99_s;
  Estimate queue_avg_s;
  Estimate makespan_s;
  Estimate gpu_utilization;
  Estimate jobs_failed;
  Estimate restarts;
  Estimate reallocations;
  Estimate preemptions;
};

/// One entry per policy, in the order of its first run.
std::vector<PolicyStatistics> statistics_of(std::span<const sim::Summary> results);

/// Appends an array: {"policy": ..., "seeds": n, "jct_avg_s": {"mean": m, "ci95": h}, ...}.
void put_statistics(std::span<const PolicyStatistics> statistics, JsonText& json);

}  // namespace orrery::cli
