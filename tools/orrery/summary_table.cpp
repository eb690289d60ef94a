#include "tools/orrery/summary_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "sim/statistics/run_figures.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

// Always seconds, as in --json: tables of two calls can be laid side by side.
std::string in_seconds(std::string_view title) { return std::string(title) + " (s)"; }

Cell text_cell(std::string text) { return {std::move(text), 0}; }

Cell count_cell(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  return {with_commas(value, 0), value};
}

Cell time_cell(double seconds) { return {with_commas(seconds, 1), seconds}; }

/// Of a run that finished no job, in columns where less is better.
const Cell kNoValue{"-", std::numeric_limits<double>::infinity()};

/// Digits after the point of a number that stands beside its interval.
int decimals_of(const sim::RunFigure& figure, double value) {
  if (figure.is_share) return 1;
  const double size = std::abs(value);
  return size >= 1000 ? 0 : size >= 100 ? 1 : 2;
}

/// "12.3 [11.9, 12.8]"; without the interval where there is one value only.
std::string estimate_text(const sim::RunFigure& figure, const sim::SeedEstimate& estimate) {
  const double scale = figure.is_share ? 100 : 1;
  const int decimals = decimals_of(figure, estimate.mean);
  const auto text = [&](double value) { return with_commas(value * scale, decimals); };
  if (!estimate.interval) return text(estimate.mean);
  return text(estimate.mean) + " [" + text(estimate.interval->low) + ", " +
         text(estimate.interval->high) + "]";
}

/// Whether any run has a count of something, so that the column says anything.
template <class Range, class Get>
bool any(const Range& runs, Get&& get) {
  return std::ranges::any_of(runs, [&](const auto& run) { return get(run) > 0; });
}

void append_counts(const char* verb,
                   const std::vector<sim::ReasonCount>& counts,
                   std::string& out) {
  for (const sim::ReasonCount& count : counts)
    out += "  " + with_commas(static_cast<double>(count.rows), 0) + " rows " + verb + ": " +
           count.reason + "\n";
}

struct TableForm {
  bool colour = false;
  std::size_t width_max = 0;
};

/// A column of means: which figure, and when it is left out.
struct MeanColumn {
  std::string_view key;
  int spare = 0;
  bool only_where_any = false;  ///< Left out where all means are zero.
};

constexpr std::array<MeanColumn, 13> kMeanColumns{{
    {"jobs_failed", 0, true},
    {"jobs_unfinished", 0, true},
    {"jct_avg_s", 0, false},
    {"jct_p50_s", 6, false},
    {"jct_p99_s", 1, false},
    {"queue_avg_s", 2, false},
    {"slowdown_avg", 5, false},
    {"ftf_max", 7, false},
    {"makespan_s", 3, false},
    {"gpu_utilization", 0, false},
    {"fragmentation_avg", 8, false},
    {"restarts", 4, true},
    {"preemptions", 9, false},
}};

Better better_of(sim::Preferred preferred) {
  switch (preferred) {
    case sim::Preferred::Lower:
      return Better::Lower;
    case sim::Preferred::Higher:
      return Better::Higher;
    case sim::Preferred::Neither:
      return Better::Neither;
  }
  return Better::Neither;
}

std::string statistics_table(std::span<const std::string> titles,
                             std::span<const LabelledStatistics> rows,
                             bool judged,
                             const TableForm& form) {
  std::vector<MeanColumn> shown;
  for (const MeanColumn& column : kMeanColumns)
    if (!column.only_where_any || any(rows, [&](const LabelledStatistics& row) {
          return row.statistics.of(column.key).mean;
        }))
      shown.push_back(column);
  std::vector<Column> columns;
  for (const std::string& title : titles) columns.push_back({title});
  columns.push_back({.title = "policy", .left = true});
  columns.push_back({"seeds"});
  for (const MeanColumn& column : shown) {
    const sim::RunFigure& figure = sim::run_figure(column.key);
    columns.push_back({std::string(figure.title),
                       judged ? better_of(figure.preferred) : Better::Neither,
                       false,
                       column.spare});
  }
  Table table(std::move(columns));
  for (const LabelledStatistics& labelled : rows) {
    std::vector<Cell> row;
    for (const std::string& label : labelled.labels) row.push_back(text_cell(label));
    row.push_back(text_cell(labelled.statistics.policy));
    row.push_back(count_cell(labelled.statistics.seeds));
    for (const MeanColumn& column : shown) {
      const sim::SeedEstimate& estimate = labelled.statistics.of(column.key);
      row.push_back({estimate_text(sim::run_figure(column.key), estimate), estimate.mean});
    }
    table.add_row(std::move(row));
  }
  return table.text(form.colour, form.width_max);
}

/// "0.0020", "< 0.0001".
std::string p_text(double p) { return p < 0.0001 ? "< 0.0001" : with_commas(p, 4); }

}  // namespace

std::string runs_table(std::span<const sim::Summary> runs, bool colour, std::size_t width_max) {
  using sim::Summary;
  const bool seeds =
      std::ranges::any_of(runs, [&](const Summary& s) { return s.seed != runs.front().seed; });
  const bool failed = any(runs, [](const Summary& s) { return s.jobs_failed; });
  const bool unfinished = any(runs, [](const Summary& s) { return s.jobs_unfinished; });
  const bool restarts = any(runs, [](const Summary& s) { return s.restarts; });

  std::vector<Column> columns{{.title = "policy", .left = true}};
  if (seeds) columns.push_back({"seed"});
  columns.push_back({"finished"});
  if (failed) columns.push_back({"failed", Better::Lower});
  if (unfinished) columns.push_back({"unfinished", Better::Lower});
  columns.push_back({in_seconds("JCT avg"), Better::Lower});
  columns.push_back({in_seconds("p50"), Better::Lower, false, 5});
  columns.push_back({in_seconds("p99"), Better::Lower});
  columns.push_back({in_seconds("queue avg"), Better::Lower});
  columns.push_back({"queue max", Better::Lower, false, 4});
  columns.push_back({"slowdown avg", Better::Lower, false, 8});
  columns.push_back({"FTF max", Better::Lower, false, 9});
  columns.push_back({in_seconds("makespan"), Better::Lower, false, 2});
  columns.push_back({"GPU use (%)", Better::Higher});
  columns.push_back({"fragments (%)", Better::Lower, false, 10});
  if (restarts) columns.push_back({"restarts", Better::Lower});
  columns.push_back({"realloc.", Better::Neither, false, 6});
  columns.push_back({"preempt.", Better::Neither, false, 3});
  columns.push_back({"decision p99 (us)", Better::Neither, false, 7});
  columns.push_back({"wall (s)", Better::Neither, false, 1});

  Table table(std::move(columns));
  for (const Summary& run : runs) {
    std::vector<Cell> row{text_cell(run.policy)};
    if (seeds) row.push_back(count_cell(run.seed));
    row.push_back(count_cell(run.jobs_finished));
    if (failed) row.push_back(count_cell(run.jobs_failed));
    if (unfinished) row.push_back(count_cell(run.jobs_unfinished));
    const auto of_finished = [&](Cell cell) { return run.jobs_finished > 0 ? cell : kNoValue; };
    row.push_back(of_finished(time_cell(run.jct_avg_s)));
    row.push_back(of_finished(time_cell(run.jct_p50_s)));
    row.push_back(of_finished(time_cell(run.jct_p99_s)));
    row.push_back(time_cell(run.queue_avg_s));
    row.push_back(count_cell(run.queue_max));
    row.push_back(of_finished({with_commas(run.slowdown_avg, 2), run.slowdown_avg}));
    row.push_back(of_finished({with_commas(run.ftf_max, 2), run.ftf_max}));
    row.push_back(time_cell(run.makespan_s));
    row.push_back({with_commas(run.gpu_utilization * 100, 1), run.gpu_utilization});
    row.push_back({with_commas(run.fragmentation_avg * 100, 1), run.fragmentation_avg});
    if (restarts) row.push_back(count_cell(run.restarts));
    row.push_back(count_cell(run.reallocations));
    row.push_back(count_cell(run.preemptions));
    row.push_back(text_cell(with_commas(run.measured.decision_p99_us, 1)));
    row.push_back(text_cell(with_commas(run.measured.wall_s, 2)));
    table.add_row(std::move(row));
  }
  return table.text(colour, width_max);
}

std::string policies_table(std::span<const sim::PolicyStatistics> policies,
                           bool colour,
                           std::size_t width_max) {
  std::vector<LabelledStatistics> rows;
  for (const sim::PolicyStatistics& policy : policies) rows.push_back({{}, policy});
  return statistics_table({}, rows, true, {colour, width_max});
}

std::string points_table(std::span<const std::string> titles,
                         std::span<const LabelledStatistics> rows,
                         bool colour,
                         std::size_t width_max) {
  return statistics_table(titles, rows, false, {colour, width_max});
}

std::string differences_table(std::span<const sim::PolicyDifference> differences,
                              std::size_t width_max) {
  std::vector<Column> columns{{.title = "figure", .left = true},
                              {.title = "policy", .left = true},
                              {.title = "against", .left = true},
                              {"difference"},
                              {"p"},
                              {"p (Holm)"}};
  Table table(std::move(columns));
  const auto figures = sim::run_figures();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!figures[i].is_main) continue;
    for (const sim::PolicyDifference& pair : differences) {
      const sim::PairedDifference& figure = pair.figures[i];
      const auto& interval = figure.difference.interval;
      if (interval && interval->low == 0 && interval->high == 0) continue;  // Equal everywhere.
      table.add_row({text_cell(std::string(figures[i].title)),
                     text_cell(pair.policy),
                     text_cell(pair.against),
                     text_cell(estimate_text(figures[i], figure.difference)),
                     text_cell(p_text(figure.p)),
                     text_cell(p_text(figure.p_holm))});
    }
  }
  return table.text(false, width_max);
}

std::string account_lines(const sim::Summary& summary) {
  const sim::WorkloadAccount& workload = summary.workload;
  std::string out;
  if (workload.rows_read > 0)
    out = "workload: " + with_commas(static_cast<double>(workload.rows_read), 0) + " rows read, " +
          with_commas(static_cast<double>(summary.jobs_total), 0) + " jobs submitted\n";
  append_counts("dropped", workload.dropped, out);
  append_counts("altered", workload.altered, out);
  for (const std::string& note : workload.notes) out += "  approximated: " + note + "\n";
  return out;
}

}  // namespace orrery::cli
