// calibrate --from: what starting, stopping and saving take, learned from journals. Without --from
// orrery-node measures the cluster of a running controller.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/json_text.hpp"
#include "sim/calibration/calibration.hpp"
#include "sim/rehearsal/recorded_run.hpp"
#include "tools/console/calibration_table.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/recorded_journal.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kDefaultFile = "calibration.yaml";

std::string source_of(const std::vector<std::string>& journals) {
  if (journals.size() == 1) return journals.front();
  return std::to_string(journals.size()) + " journals, the first " + journals.front();
}

/// Journals that are named twice: each would be held out, and foretold by itself.
Errors named_twice(const std::vector<std::string>& journals) {
  Errors errors;
  std::set<std::string> known;
  for (const std::string& journal : journals) {
    std::error_code none;
    const std::filesystem::path path = std::filesystem::canonical(journal, none);
    if (!known.insert(none ? journal : path.string()).second)
      errors.push_back({.file = journal,
                        .subject = "--from",
                        .message = "is named twice; name each journal once"});
  }
  return errors;
}

void put_time(JsonText& json, std::string_view key, Duration time) {
  json.field(key, time.in_seconds());
}

void put_fitted(JsonText& json, const sim::FittedTime& time) {
  json.begin_object().field("time", orrery::to_string(time.kind)).field("samples", time.count);
  put_time(json, "shortest_s", time.shortest);
  put_time(json, "p10_s", time.p10);
  put_time(json, "p50_s", time.p50);
  put_time(json, "p90_s", time.p90);
  put_time(json, "longest_s", time.longest);
  json.key("held_out");
  if (!time.held_out) {
    json.null();
  } else {
    json.begin_object().field("samples", time.held_out->samples);
    json.field("error_p50", time.held_out->error_p50);
    json.field("error_p90", time.held_out->error_p90);
    json.field("inside_p10_p90", time.held_out->inside).end_object();
  }
  json.end_object();
}

std::string json_of(const sim::Calibration& calibration, const std::string& file) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("file", file).field("journals", calibration.journals);
  json.field("jobs", calibration.jobs);
  put_time(json, "length_s", calibration.length);
  json.key("timing").begin_object();
  const scenarios::Timing& timing = calibration.timing;
  put_time(json, "start_s", timing.start);
  put_time(json, "stop_s", timing.stop);
  put_time(json, "restore_s", timing.restore);
  put_time(json, "rescale_s", timing.rescale);
  put_time(json, "checkpoint_interval_s", timing.checkpoint_interval);
  put_time(json, "checkpoint_cost_s", timing.checkpoint_cost);
  put_time(json, "planner_latency_s", calibration.planner_latency);
  json.end_object().key("observed").begin_array();
  for (const sim::FittedTime& time : calibration.times) put_fitted(json, time);
  json.end_array().key("devices").begin_array();
  for (const sim::FittedSpeed& speed : calibration.speeds) {
    json.begin_object().field("model", speed.model).field("speed", speed.speed);
    json.field("seen", speed.count).field("least", speed.least).field("most", speed.most);
    json.end_object();
  }
  json.end_array().key("remarks").begin_array();
  for (const std::string& remark : calibration.remarks) json.value(remark);
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string table_of(const sim::Calibration& calibration, const ConsoleTraits& traits) {
  std::vector<CalibrationRow> rows;
  for (const sim::FittedTime& time : calibration.times) {
    CalibrationRow row{.name = std::string(orrery::to_string(time.kind)),
                       .samples = time.count,
                       .p10_s = time.p10.in_seconds(),
                       .p50_s = time.p50.in_seconds(),
                       .p90_s = time.p90.in_seconds()};
    if (time.held_out) {
      row.error_p50 = time.held_out->error_p50;
      row.inside = time.held_out->inside;
    }
    rows.push_back(std::move(row));
  }
  return calibration_table(rows, traits);
}

}  // namespace

ExitCode run_calibrate_from(const Arguments& arguments, Console& console) {
  const auto refuse = [&console](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  const std::vector<std::string> journals = arguments.values("--from");
  if (const Errors twice = named_twice(journals); !twice.empty()) return refuse(twice);
  const std::string file = arguments.value("--out").value_or(kDefaultFile);
  if (const Status kept = keeps_inputs(file, journals); !kept) return refuse(kept.errors());
  std::vector<sim::ObservedTimes> observed;
  Errors errors;
  for (const std::string& path : journals) {
    const auto run = recorded_journal(path, {});
    if (interrupted()) return ExitCode::Interrupted;
    if (!run)
      errors.insert(errors.end(), run.errors().begin(), run.errors().end());
    else
      observed.push_back(sim::observed_times(*run, kJournalNoise));
  }
  if (!errors.empty()) return refuse(errors);
  if (std::ranges::all_of(observed, [](const sim::ObservedTimes& each) { return each.empty(); }))
    return refuse({{.file = journals.front(),
                    .message = "records no start, no stop and no plan, nothing can be learned from "
                               "it; name the journal of a controller that ran jobs"}});
  const sim::Calibration calibration = sim::fit(observed, kJournalNoise);
  if (const Status written =
          write_file(file, sim::calibration_yaml(calibration, source_of(journals)));
      !written)
    return refuse(written.errors());
  if (arguments.has("--json")) {
    console.out(json_of(calibration, file));
    return ExitCode::Met;
  }
  console.out(table_of(calibration, console.traits()));
  for (const sim::FittedSpeed& speed : calibration.speeds)
    console.out(speed.model + ": " + with_commas(speed.speed, 3) + " times as fast as " +
                calibration.speeds.front().model + "\n");
  for (const std::string& remark : calibration.remarks) console.err("remark: " + remark + "\n");
  console.err("wrote " + file + "; a scenario reads it by calibration: " + file + "\n");
  return ExitCode::Met;
}

}  // namespace orrery::cli
