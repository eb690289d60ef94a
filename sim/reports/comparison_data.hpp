// The data of a page that compares policies over seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_text.hpp"
#include "sim/reports/report_html.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// A mean over seeds and half the width of its interval.
struct MeanOverSeeds {
  double mean = 0;
  double half_width = 0;
};

/// One run of a comparison.
struct ComparedRun {
  Summary summary;
  std::string page;  ///< Address of its own page from the comparison's; empty: none.
  SortedSample jct;
  SortedSample waiting;
};

/// One job in each run, the recorded one first.
struct JobChange {
  std::string name;
  std::string work_known;                          ///< Where its work is known from.
  std::vector<std::optional<double>> waited_s;     ///< [run]: from submission; none: never.
  std::vector<std::optional<double>> completed_s;  ///< [run]: likewise.
  std::vector<std::uint64_t> restarts;             ///< [run]: after failures and by decision.
};

/// What a page of a comparison is made of.
struct ComparisonPage {
  std::string_view fidelity;
  std::span<const ComparedRun> runs;  ///< Policies outermost, each with the same seeds in order.
  std::vector<std::string> approximated;
  /// Of one figure over the seeds of one policy.
  MeanOverSeeds (*mean_of)(std::span<const double>) = nullptr;
  /// Job by job, where the first run was recorded and the others are what-ifs of it; else empty.
  std::span<const JobChange> jobs = {};
};

/// Several samples as one: all values, or `points_max` at equal distances in rank, where each value
/// of a thinned sample stands for equally many. Its percentiles are those of the values it has.
SortedSample merged(std::span<const SortedSample* const> samples, std::size_t points_max);

/// The data as JSON, as sim/reports/page/src/data.ts declares them; measured values last. There is
/// at least one run.
std::string comparison_page_data(const ComparisonPage& page, const PageLimits& limits = {});

}  // namespace orrery::sim
