// Runs a scenario in world `model` and gives what evalys.csv would say.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/reports/evalys_csv.hpp"
#include "sim/reports/timeline.hpp"
#include "sim/run/run.hpp"

namespace orrery::tests {

/// The data beside the project; a test skips itself where the folder is absent.
inline std::filesystem::path traces_folder() {
  return std::filesystem::path(ORRERY_SOURCE_ROOT) / ".." / "shared" / "traces";
}

/// The lines of a CSV text as cells by the names of the first one. Quotation is not supported.
inline std::vector<std::map<std::string, std::string>> csv_rows(std::istream& in) {
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::istringstream text(line + ","); std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::vector<std::map<std::string, std::string>> rows;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = cells_of(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = cells_of(line);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i == 0) rows.emplace_back();
      rows.back()[names[i]] = i < cells.size() ? cells[i] : "";
    }
  }
  return rows;
}

/// Records which job held which devices.
class Recorder final : public sim::RunListener {
 public:
  explicit Recorder(std::span<const NodeGroup> groups) : timeline(groups) {}

  void on_submitted(JobId job, const JobSpec&, const sim::JobFacts& facts) override {
    timeline.submitted(job, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable&) override {
    timeline.observe(notices, state);
  }

  sim::Timeline timeline;
};

struct ImportedRun {
  sim::Summary summary;
  std::vector<std::string> warnings;
  std::map<std::string, std::map<std::string, std::string>> jobs;  ///< Rows by job_id.

  /// A cell as a number.
  double number(const std::string& job, const std::string& column) const {
    return std::stod(jobs.at(job).at(column));
  }
};

/// Makes what carries the bytes of a run; null: what the scenario's fidelity has by itself.
using MakeFabric = Result<std::unique_ptr<sim::Fabric>> (*)(const scenarios::Scenario&);

/// Runs the scenario; nothing, and a failure of the test, where it does not load or run.
inline std::optional<ImportedRun> run_imported(const std::string& yaml,
                                               MakeFabric make_fabric = nullptr) {
  const auto report_errors = [](const Errors& errors) {
    for (const Error& error : errors) ADD_FAILURE() << error.text();
    return std::nullopt;
  };
  auto scenario = scenarios::parse_scenario(yaml, "scenario.yaml");
  if (!scenario) return report_errors(scenario.errors());
  const auto workload = sim::LoadedWorkload::load(*scenario);
  if (!workload) return report_errors(workload.errors());
  workload->complete(*scenario);
  policies::PolicyArguments arguments;
  for (const scenarios::Parameter& parameter : scenario->policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.seed = scenario->seed;
  const auto policy = policies::make_policy(scenario->policy.name, arguments);
  if (!policy) return report_errors(policy.errors());
  Recorder recorder(scenario->groups);
  sim::RunOptions options;
  options.listeners = {&recorder};
  std::unique_ptr<sim::Fabric> fabric;
  if (make_fabric != nullptr) {
    auto made = make_fabric(*scenario);
    if (!made) return report_errors(made.errors());
    fabric = std::move(*made);
    options.fabric = fabric.get();
  }
  const auto report = sim::run_model(*scenario, *workload, **policy, options);
  if (!report) return report_errors(report.errors());
  recorder.timeline.close(report->ended_at);
  ImportedRun out{report->summary, report->warnings, {}};
  std::ostringstream text;
  sim::write_evalys_csv(text, scenario->name, report->metrics->jobs(), &recorder.timeline);
  std::istringstream lines(text.str());
  for (auto& row : csv_rows(lines)) {
    const std::string id = row.at("job_id");
    out.jobs[id] = std::move(row);
  }
  return out;
}

}  // namespace orrery::tests

/// Leaves the test where the data is absent.
#define SKIP_WITHOUT_TRACES()                                                \
  if (!std::filesystem::exists(::orrery::tests::traces_folder())) {          \
    GTEST_SKIP() << "the folder of public traces is not beside the project"; \
  }                                                                          \
  static_assert(true)
