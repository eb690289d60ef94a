#include "tools/orrery/summary_table.hpp"

#include <algorithm>

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

/// "12.3 ±0.4"; without the interval where there is one value only.
Cell estimate_cell(const Estimate& estimate, double scale, int decimals, bool interval) {
  std::string text = with_commas(estimate.mean / scale, decimals);
  if (interval) text += " ±" + with_commas(estimate.half_width / scale, decimals);
  return {std::move(text), estimate.mean};
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

std::string statistics_table(std::span<const std::string> titles,
                             std::span<const LabelledStatistics> rows,
                             bool judged,
                             const TableForm& form) {
  const bool failed =
      any(rows, [](const LabelledStatistics& row) { return row.statistics.jobs_failed.mean; });
  const Better lower = judged ? Better::Lower : Better::Neither;
  std::vector<Column> columns;
  for (const std::string& title : titles) columns.push_back({title});
  columns.push_back({.title = "policy", .left = true});
  columns.push_back({"seeds"});
  if (failed) columns.push_back({"failed", lower});
  columns.push_back({in_seconds("JCT avg"), lower});
  columns.push_back({in_seconds("p50"), lower, false, 4});
  columns.push_back({in_seconds("p99"), lower});
  columns.push_back({in_seconds("queue avg"), lower});
  columns.push_back({in_seconds("makespan"), lower, false, 1});
  columns.push_back({"GPU use (%)", judged ? Better::Higher : Better::Neither});
  columns.push_back({"realloc.", Better::Neither, false, 3});
  columns.push_back({"preempt.", Better::Neither, false, 2});

  Table table(std::move(columns));
  for (const LabelledStatistics& labelled : rows) {
    const PolicyStatistics& policy = labelled.statistics;
    const bool several = policy.seeds > 1;
    std::vector<Cell> row;
    for (const std::string& label : labelled.labels) row.push_back(text_cell(label));
    row.push_back(text_cell(policy.policy));
    row.push_back(count_cell(policy.seeds));
    if (failed) row.push_back(estimate_cell(policy.jobs_failed, 1, 1, several));
    row.push_back(estimate_cell(policy.jct_avg_s, 1, 1, several));
    row.push_back(estimate_cell(policy.jct_p50_s, 1, 1, several));
    row.push_back(estimate_cell(policy.jct_p99_s, 1, 1, several));
    row.push_back(estimate_cell(policy.queue_avg_s, 1, 1, several));
    row.push_back(estimate_cell(policy.makespan_s, 1, 1, several));
    row.push_back(estimate_cell(policy.gpu_utilization, 0.01, 1, several));
    row.push_back(estimate_cell(policy.reallocations, 1, 0, several));
    row.push_back(estimate_cell(policy.preemptions, 1, 0, several));
    table.add_row(std::move(row));
  }
  return table.text(form.colour, form.width_max);
}

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
  columns.push_back({in_seconds("makespan"), Better::Lower, false, 2});
  columns.push_back({"GPU use (%)", Better::Higher});
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
    row.push_back(time_cell(run.jct_avg_s));
    row.push_back(time_cell(run.jct_p50_s));
    row.push_back(time_cell(run.jct_p99_s));
    row.push_back(time_cell(run.queue_avg_s));
    row.push_back(count_cell(run.queue_max));
    row.push_back(time_cell(run.makespan_s));
    row.push_back({with_commas(run.gpu_utilization * 100, 1), run.gpu_utilization});
    if (restarts) row.push_back(count_cell(run.restarts));
    row.push_back(count_cell(run.reallocations));
    row.push_back(count_cell(run.preemptions));
    row.push_back(text_cell(with_commas(run.measured.decision_p99_us, 1)));
    row.push_back(text_cell(with_commas(run.measured.wall_s, 2)));
    table.add_row(std::move(row));
  }
  return table.text(colour, width_max);
}

std::string policies_table(std::span<const PolicyStatistics> policies,
                           bool colour,
                           std::size_t width_max) {
  std::vector<LabelledStatistics> rows;
  for (const PolicyStatistics& policy : policies) rows.push_back({{}, policy});
  return statistics_table({}, rows, true, {colour, width_max});
}

std::string points_table(std::span<const std::string> titles,
                         std::span<const LabelledStatistics> rows,
                         bool colour,
                         std::size_t width_max) {
  return statistics_table(titles, rows, false, {colour, width_max});
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
