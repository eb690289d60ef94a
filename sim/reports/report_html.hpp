// report.html: a run as one page that needs no network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reports/job_notes.hpp"
#include "sim/reports/timeline.hpp"
#include "sim/results/job_ratios.hpp"
#include "sim/results/job_table.hpp"
#include "sim/results/queue_samples.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// What a strike of a fault is called, and what it hits.
struct StrikeWords {
  std::string what;           ///< Such as "down".
  std::vector<NodeId> nodes;  ///< Empty: no node in particular.
};

/// What a page of one run is made of. All outlive the call; the timeline is closed.
struct RunPage {
  const Summary& summary;
  std::string_view fidelity;
  const JobTable& jobs;
  const Timeline& timeline;
  const JobNotes& notes;
  std::span<const QueueSamples::Point> queue_points;  ///< Empty where no queues are set.
  std::vector<std::string> approximated;              ///< Sentences.
  std::vector<StrikeWords> faults;                    ///< [fault of the scenario].
  std::vector<std::string> node_names = {};           ///< [node]; "node 3" where there is none.
};

/// How much of a run a page shows in full. Above, a part is shown, and the page says which.
struct PageLimits {
  std::size_t parts_max = 100'000;  ///< Rectangles of the Gantt chart.
  std::size_t nodes_max = 512;      ///< Its rows.
  std::size_t jobs_max = 20'000;    ///< Rows of the table, beside the jobs that are drawn.
  std::size_t marks_max = 5'000;    ///< Failures that are marked.
  std::size_t links_max = 48;       ///< Rows of the heat map.
  std::size_t columns = 400;        ///< Its columns.
  std::size_t sample_max = 2'000;   ///< Points of a distribution.
};

/// A sorted sample of times, or of what is said to be without a unit: all, or so many at equal
/// distances in rank.
struct SortedSample {
  std::uint64_t count = 0;  ///< Before it was thinned.
  std::vector<double> values_s;
  double p50_s = 0;  ///< Of all values, thinned or not; see percentile.hpp.
  double p90_s = 0;
  double p99_s = 0;
};

/// Completion times of the jobs that succeeded.
SortedSample completion_times(const JobTable& jobs, std::size_t points_max);

/// Times from submission to the first allocation, of the jobs that were ever allocated.
SortedSample waiting_times(const JobTable& jobs, std::size_t points_max);

/// Slowdowns of the jobs that succeeded (sim/results/job_ratios.hpp); they have no unit.
SortedSample slowdowns(const std::vector<JobRatios>& jobs, std::size_t points_max);

/// The data of a run's page as JSON, as sim/reports/page/src/data.ts declares them. Equal runs give
/// equal bytes but for the last member, `measured`.
std::string run_page_data(const RunPage& run, const PageLimits& limits = {});

/// The page around data that are JSON. Empty where this program was built without the page; see
/// `page_absence`.
std::string report_page(std::string_view data);

/// Why `report_page` gives nothing, as a sentence; empty where it gives a page.
std::string report_page_absence();

}  // namespace orrery::sim
