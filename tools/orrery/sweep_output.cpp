#include "tools/orrery/sweep_output.hpp"

#include <algorithm>
#include <string_view>

#include "core/base/json_text.hpp"
#include "sim/reports/report_html.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/seed_statistics.hpp"
#include "tools/orrery/summary_table.hpp"

namespace orrery::cli {
namespace {

/// The parameters of a point as an object, without those that it leaves alone.
void put_settings(const SweepFile& sweep, std::size_t point, JsonText& json) {
  json.begin_object();
  for (const auto& setting : sweep.points[point])
    if (setting) json.field(setting->override.path, setting->label);
  json.end_object();
}

/// Of the runs of all points, as note_on_unfinished.
std::string note_on(const SweepNumbers& numbers) {
  std::vector<sim::Summary> runs;
  for (const auto& point : numbers.points) runs.insert(runs.end(), point.begin(), point.end());
  return note_on_unfinished(runs);
}

/// The advice as it is for the file of a sweep, whose seeds stand there.
std::string advice_for_file(std::string advice) {
  constexpr std::string_view kOption = "--seeds 1..10";
  if (const std::size_t at = advice.find(kOption); at != advice.npos)
    advice.replace(at, kOption.size(), "seeds: 1..10 in the file");
  return advice;
}

}  // namespace

std::string dry_run_table(const SweepPlan& plan,
                          const std::vector<std::size_t>& done,
                          const Console& console) {
  const SweepFile& sweep = plan.sweep;
  std::vector<Column> columns{{"cell"}};
  for (const std::string& parameter : sweep.parameters) columns.push_back({parameter});
  columns.push_back({.title = "policy", .left = true});
  columns.push_back({"seed"});
  if (!done.empty()) columns.push_back({.title = "state", .left = true});
  Table table(std::move(columns));
  for (const SweepCell& cell : plan.cells) {
    std::vector<Cell> row{{std::to_string(cell.number), 0}};
    for (const auto& setting : sweep.points[cell.point])
      row.push_back({setting ? setting->label : "-", 0});
    row.push_back({sweep.policies[cell.policy].label, 0});
    row.push_back({std::to_string(cell.seed), 0});
    if (!done.empty())
      row.push_back({std::ranges::binary_search(done, cell.number) ? "done" : "", 0});
    table.add_row(std::move(row));
  }
  return "sweep " + sweep.name + " of " + sweep.scenario + ": " +
         std::to_string(plan.cells.size()) + " cells, " + std::to_string(sweep.points.size()) +
         (sweep.points.size() == 1 ? " point" : " points") + " x " +
         std::to_string(sweep.policies.size()) + " policies x " +
         std::to_string(sweep.seeds.size()) + " seeds\n\n" +
         table.text(console.traits().colour, console.traits().table_width());
}

std::string dry_run_json(const SweepPlan& plan, const std::vector<std::size_t>& done) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("sweep", plan.sweep.name).field("scenario", plan.sweep.scenario);
  json.key("cells").begin_array();
  for (const SweepCell& cell : plan.cells) {
    json.begin_object().field("cell", cell.number).key("set");
    put_settings(plan.sweep, cell.point, json);
    json.field("policy", plan.sweep.policies[cell.policy].label).field("seed", cell.seed);
    json.field("done", std::ranges::binary_search(done, cell.number)).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string sweep_text(const SweepPlan& plan, const SweepNumbers& numbers, const Console& console) {
  std::vector<LabelledStatistics> rows;
  for (std::size_t point = 0; point < numbers.points.size(); ++point) {
    LabelledStatistics row;
    for (const auto& setting : plan.sweep.points[point])
      row.labels.push_back(setting ? setting->label : "-");
    for (const sim::PolicyStatistics& policy : numbers.statistics[point]) {
      row.statistics = policy;
      rows.push_back(row);
    }
  }
  const std::size_t seeds = plan.sweep.seeds.size();
  const std::string advice = advice_on_seeds(seeds, plan.sweep.policies.size());
  const std::string note = note_on(numbers);
  return plan.sweep.name + ", scenario " + numbers.points.front().front().scenario + ", world " +
         numbers.points.front().front().world + ", " + std::to_string(plan.cells.size()) +
         " cells\n\n" +
         points_table(
             plan.sweep.parameters, rows, console.traits().colour, console.traits().table_width()) +
         (seeds > 1 ? "\n[low, high]: " + std::string(sim::kIntervalMethod) + "\n" : "") +
         (advice.empty() ? "" : "\n" + advice_for_file(advice) + "\n") +
         (note.empty() ? "" : "\n" + note + "\n");
}

std::string sweep_json(const SweepPlan& plan,
                       const std::vector<SweepResult>& results,
                       const SweepNumbers& numbers) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("sweep", plan.sweep.name).field("scenario", plan.sweep.scenario);
  json.key("cells").begin_array();
  for (const SweepResult& result : results) {
    json.begin_object().field("cell", result.cell.number).key("set");
    put_settings(plan.sweep, result.cell.point, json);
    json.field("policy", plan.sweep.policies[result.cell.policy].label);
    json.field("seed", result.cell.seed).field("exit", result.exit_code).key("summary");
    sim::put_summary(result.summary, sim::MeasuredAs::SubObject, json);
    json.end_object();
  }
  json.end_array().key("points").begin_array();
  for (std::size_t point = 0; point < numbers.points.size(); ++point) {
    json.begin_object().key("set");
    put_settings(plan.sweep, point, json);
    json.key("policies");
    put_statistics(numbers.statistics[point], json);
    json.key("differences");
    put_differences(sim::differences_of(numbers.points[point]), json);
    json.end_object();
  }
  json.end_array().key("method").begin_object();
  json.field("interval", sim::kIntervalMethod).field("test", sim::kTestMethod).end_object();
  if (const std::string note = note_on(numbers); !note.empty()) json.field("note", note);
  json.end_object();
  return json.take() + "\n";
}

Status write_sweep(const SweepPlan& plan,
                   const std::vector<SweepResult>& results,
                   const SweepNumbers& numbers,
                   const SweepStore& store) {
  Status written = store.put("sweep.csv", sweep_csv(plan.sweep, results));
  if (written && sim::report_page_absence().empty())
    written = store.put("report.html", sim::report_page(sweep_page_data(plan, numbers)));
  return written;
}

std::string written_files() {
  const std::string absence = sim::report_page_absence();
  return absence.empty() ? "sweep.csv, report.html" : "sweep.csv; " + absence;
}

}  // namespace orrery::cli
