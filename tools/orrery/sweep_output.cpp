#include "tools/orrery/sweep_output.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/json_text.hpp"
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

/// The advice as it is for the file of a sweep, whose seeds stand there.
std::string advice_for_file(std::string advice) {
  constexpr std::string_view kOption = "--seeds 1..10";
  if (const std::size_t at = advice.find(kOption); at != advice.npos)
    advice.replace(at, kOption.size(), "seeds: 1..10 in the file");
  return advice;
}

/// The results of one point after the other, as runs of its policies by their labels.
std::vector<std::vector<sim::Summary>> by_point(const SweepPlan& plan,
                                                const std::vector<SweepResult>& results) {
  std::vector<std::vector<sim::Summary>> out(plan.sweep.points.size());
  for (const SweepResult& result : results) {
    std::vector<sim::Summary>& point = out[result.cell.point];
    point.push_back(result.summary);
    point.back().policy = plan.sweep.policies[result.cell.policy].label;
  }
  return out;
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

std::string sweep_text(const SweepPlan& plan,
                       const std::vector<SweepResult>& results,
                       const Console& console) {
  std::vector<LabelledStatistics> rows;
  const auto points = by_point(plan, results);
  for (std::size_t point = 0; point < points.size(); ++point) {
    LabelledStatistics row;
    for (const auto& setting : plan.sweep.points[point])
      row.labels.push_back(setting ? setting->label : "-");
    for (sim::PolicyStatistics& policy : sim::statistics_of(points[point])) {
      row.statistics = std::move(policy);
      rows.push_back(row);
    }
  }
  const std::size_t seeds = plan.sweep.seeds.size();
  const std::string advice = advice_on_seeds(seeds, plan.sweep.policies.size());
  return plan.sweep.name + ", scenario " + results.front().summary.scenario + ", world " +
         results.front().summary.world + ", " + std::to_string(plan.cells.size()) + " cells\n\n" +
         points_table(
             plan.sweep.parameters, rows, console.traits().colour, console.traits().table_width()) +
         (seeds > 1 ? "\n[low, high]: " + std::string(sim::kIntervalMethod) + "\n" : "") +
         (advice.empty() ? "" : "\n" + advice_for_file(advice) + "\n");
}

std::string sweep_json(const SweepPlan& plan, const std::vector<SweepResult>& results) {
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
  const auto points = by_point(plan, results);
  for (std::size_t point = 0; point < points.size(); ++point) {
    json.begin_object().key("set");
    put_settings(plan.sweep, point, json);
    json.key("policies");
    put_statistics(sim::statistics_of(points[point]), json);
    json.key("differences");
    put_differences(sim::differences_of(points[point]), json);
    json.end_object();
  }
  json.end_array().key("method").begin_object();
  json.field("interval", sim::kIntervalMethod).field("test", sim::kTestMethod).end_object();
  json.end_object();
  return json.take() + "\n";
}

Status write_sweep(const SweepPlan& plan,
                   const std::vector<SweepResult>& results,
                   const SweepStore& store) {
  return store.put("sweep.csv", sweep_csv(plan.sweep, results));
}

std::string written_files() { return "sweep.csv"; }

}  // namespace orrery::cli
