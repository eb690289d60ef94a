// Summaries of runs as tables for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/results/summary.hpp"
#include "tools/orrery/seed_statistics.hpp"

namespace orrery::cli {

/// One row per run. Lesser columns are left out where a line would be longer than `width_max`.
std::string runs_table(std::span<const sim::Summary> runs, bool colour, std::size_t width_max);

/// One row per policy, each number as mean and half the width of its 95 percent interval;
/// narrowed likewise.
std::string policies_table(std::span<const PolicyStatistics> policies,
                           bool colour,
                           std::size_t width_max);

/// The statistics of one policy at one point of a sweep.
struct LabelledStatistics {
  std::vector<std::string> labels;  ///< The point.
  PolicyStatistics statistics;
};

/// The same behind columns of labels under these titles, which are never left out. No row is the
/// best: they are of different points.
std::string points_table(std::span<const std::string> titles,
                         std::span<const LabelledStatistics> rows,
                         bool colour,
                         std::size_t width_max);

/// Lines about what became of the rows of the workload's file; empty where there was none.
std::string account_lines(const sim::Summary& summary);

}  // namespace orrery::cli
