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
#include "sim/results/job_table.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Some jobs of one run: all, or one in so many by id, so that runs of one seed have the same.
struct SampledJobs {
  std::uint64_t total = 0;  ///< Of the run.
  std::vector<std::string> names;
  std::vector<double> jct_s;  ///< Below 0: the job did not succeed.
};

/// At most `jobs_max` jobs.
SampledJobs sampled_jobs(const JobTable& jobs, std::size_t jobs_max);

/// One run of a comparison.
struct ComparedRun {
  Summary summary;
  std::string page;  ///< Address of its own page from the comparison's; empty: none.
  SortedSample jct;
  SortedSample waiting;
  SortedSample slowdown;  ///< Without a unit.
  SampledJobs jobs;
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
