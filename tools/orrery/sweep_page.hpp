// The page of a sweep: every figure against each parameter.
#pragma once

#include <string>
#include <vector>

#include "sim/results/summary.hpp"
#include "sim/statistics/policy_statistics.hpp"
#include "tools/orrery/sweep_plan.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace orrery::cli {

/// The results of a sweep, gathered once for tables, documents and the page.
struct SweepNumbers {
  /// [point]: runs of all policies, by their labels, policies outermost and seeds in order.
  std::vector<std::vector<sim::Summary>> points;
  std::vector<std::vector<sim::PolicyStatistics>> statistics;  ///< [point][policy].
};

SweepNumbers numbers_of(const SweepPlan& plan, const std::vector<SweepResult>& results);

/// The data of the page as JSON, as sim/reports/page/src/data.ts declares them.
std::string sweep_page_data(const SweepPlan& plan, const SweepNumbers& numbers);

}  // namespace orrery::cli
