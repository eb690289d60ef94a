#include "tools/orrery/parity_output.hpp"

#include "core/base/json_text.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

constexpr std::array kFigures{
    sim::ParityFigure::Completion, sim::ParityFigure::Step, sim::ParityFigure::Recovery};

Cell percent(double part) { return {with_commas(part * 100, 1), part}; }

Cell count(std::size_t number) { return {std::to_string(number), static_cast<double>(number)}; }

void put_spread(JsonText& json, std::string_view key, const sim::Spread& spread) {
  json.key(key).begin_object().field("count", std::uint64_t{spread.count});
  json.field("p10", spread.p10).field("p50", spread.p50).field("p90", spread.p90);
  json.field("shortest", spread.shortest).field("longest", spread.longest).end_object();
}

void put_total(JsonText& json, sim::ParityFigure figure, const sim::ParityTotal& total) {
  json.begin_object().field("figure", orrery::to_string(figure));
  json.field("count", std::uint64_t{total.count}).field("error_p50", total.error_p50);
  json.field("error_p90", total.error_p90).field("error_max", total.error_max);
  json.field("bias", total.bias).field("inside", total.inside);
  json.field("uncalibrated_p50", total.uncalibrated_p50);
  json.field("uncalibrated_max", total.uncalibrated_max);
  json.field("unmatched", std::uint64_t{total.unmatched}).end_object();
}

void put_totals(JsonText& json, const std::array<sim::ParityTotal, 3>& totals) {
  json.key("totals").begin_array();
  for (const sim::ParityFigure figure : kFigures)
    put_total(json, figure, totals[static_cast<std::size_t>(figure)]);
  json.end_array();
}

void put_strings(JsonText& json, std::string_view key, const std::vector<std::string>& list) {
  json.key(key).begin_array();
  for (const std::string& each : list) json.value(each);
  json.end_array();
}

void put_row(JsonText& json, const sim::ParityRow& row) {
  json.begin_object().field("job", row.job).field("figure", orrery::to_string(row.figure));
  json.field("which", row.which).key("measured_s").begin_array();
  for (const double value : row.measured_s) json.value(value);
  json.end_array();
  put_spread(json, "measured", row.measured);
  put_spread(json, "predicted", row.predicted);
  json.field("uncalibrated_s", row.uncalibrated_s);
  json.field("unmatched", std::uint64_t{row.unmatched}).end_object();
}

void put_time(JsonText& json, const sim::FittedTime& time) {
  json.begin_object().field("time", orrery::to_string(time.kind)).field("samples", time.count);
  json.field("p10_s", time.p10.in_seconds()).field("p50_s", time.p50.in_seconds());
  json.field("p90_s", time.p90.in_seconds()).key("held_out_error_p50");
  if (time.held_out)
    json.value(time.held_out->error_p50);
  else
    json.null();
  json.end_object();
}

void put_scenario(JsonText& json, const ParityScenario& scenario) {
  json.begin_object().field("name", scenario.name).field("description", scenario.description);
  json.field("policy", scenario.policy).field("time_scale", scenario.time_scale);
  json.key("times").begin_array();
  for (const sim::FittedTime& time : scenario.calibration.times) put_time(json, time);
  json.end_array();
  put_totals(json, scenario.parity.totals);
  json.key("rows").begin_array();
  for (const sim::ParityRow& row : scenario.parity.rows) put_row(json, row);
  json.end_array().key("decisions").begin_array();
  for (const sim::DecisionPair& pair : scenario.parity.decisions) {
    json.begin_object().field("job", pair.job).field("predicted", pair.predicted);
    json.field("measured", pair.measured);
    json.field("runs_other", std::uint64_t{pair.runs_other});
    json.field("first_other", pair.first_other).end_object();
  }
  json.end_array();
  put_strings(json, "wrong", scenario.parity.wrong);
  put_strings(json, "remarks", scenario.remarks);
  json.end_object();
}

}  // namespace

std::array<sim::ParityTotal, 3> totals_of(const std::vector<ParityScenario>& scenarios) {
  std::vector<sim::ParityRow> rows;
  for (const ParityScenario& scenario : scenarios)
    rows.insert(rows.end(), scenario.parity.rows.begin(), scenario.parity.rows.end());
  return sim::parity_totals(rows);
}

std::string parity_table(const std::vector<ParityScenario>& scenarios,
                         const ConsoleTraits& traits) {
  Table table({{.title = "scenario", .left = true},
               {.title = "figure", .left = true},
               {.title = "measured"},
               {.title = "error p50 %"},
               {.title = "p90 %", .spare = 1},
               {.title = "worst %"},
               {.title = "bias %", .spare = 2},
               {.title = "in p10-p90 %", .spare = 3},
               {.title = "uncalibrated p50 %", .spare = 4},
               {.title = "unmatched", .spare = 5}});
  const auto add = [&](const std::string& name, const std::array<sim::ParityTotal, 3>& totals) {
    for (const sim::ParityFigure figure : kFigures) {
      const sim::ParityTotal& total = totals[static_cast<std::size_t>(figure)];
      if (total.count == 0 && total.unmatched == 0) continue;
      table.add_row({{name, 0},
                     {std::string(orrery::to_string(figure)), 0},
                     count(total.count),
                     percent(total.error_p50),
                     percent(total.error_p90),
                     percent(total.error_max),
                     percent(total.bias),
                     percent(total.inside),
                     percent(total.uncalibrated_p50),
                     count(total.unmatched)});
    }
  };
  for (const ParityScenario& scenario : scenarios) add(scenario.name, scenario.parity.totals);
  if (scenarios.size() > 1) add("all", totals_of(scenarios));
  return table.text(false, traits.table_width());
}

std::string parity_json(const std::vector<ParityScenario>& scenarios, const ParityPlan& plan) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("version", 1).field("kind", "parity");
  json.field("training", std::uint64_t{plan.training});
  json.field("measured", std::uint64_t{plan.measured});
  json.field("predicted", std::uint64_t{plan.predicted});
  put_totals(json, totals_of(scenarios));
  json.key("scenarios").begin_array();
  for (const ParityScenario& scenario : scenarios) put_scenario(json, scenario);
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace orrery::cli
