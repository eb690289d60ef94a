// Summaries of runs as tables for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/results/summary.hpp"
#include "sim/statistics/policy_statistics.hpp"

namespace orrery::cli {

/// One row per run. Lesser columns are left out where a line would be longer than `width_max`.
std::string runs_table(std::span<const sim::Summary> runs, bool colour, std::size_t width_max);

/// One row per policy, each number as mean and 95 percent interval (sim/statistics/bootstrap.hpp);
/// narrowed likewise.
std::string policies_table(std::span<const sim::PolicyStatistics> policies,
                           bool colour,
                           std::size_t width_max);

/// One row for each main figure of each pair of policies, but for those that are equal with every
/// seed: the paired difference with its interval, and what it may be by chance.
std::string differences_table(std::span<const sim::PolicyDifference> differences,
                              std::size_t width_max);

/// The statistics of one policy at one point of a sweep.
struct LabelledStatistics {
  std::vector<std::string> labels;  ///< The point.
  sim::PolicyStatistics statistics;
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
