#include "tools/orrery/sweep_plan.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/bytes.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/yaml/overrides.hpp"
#include "tools/console/input_file.hpp"
#include "tools/orrery/kept_runs.hpp"
#include "tools/orrery/scenario_runs.hpp"

namespace orrery::cli {
namespace {

/// As many errors are told; what is wrong at one point is often wrong at all.
constexpr std::size_t kSweepErrorsMax = 40;

/// Checks the points of a sweep one after the other.
class SweepPlanner {
 public:
  SweepPlanner(SweepPlan& plan, SweepCheck check) : plan_(plan), check_(check) {}

  Errors run() {
    SweepFile& sweep = plan_.sweep;
    const auto text = read_input(plan_.scenario);
    if (!text) {
      fail({.code = ErrorCode::NotFound,
            .file = sweep.file,
            .line = sweep.scenario_line,
            .subject = "scenario",
            .message = sweep.scenario + " cannot be read, a scenario is needed; its path is "
                                        "relative to the folder of this file"});
      return std::move(errors_);
    }
    plan_.identity.scenario_text = digest_of(*text);
    for (const SweepPolicy& policy : sweep.policies) check_name(policy);
    ByteWriter inputs;
    for (std::size_t point = 0; point < sweep.points.size() && !is_full(); ++point)
      check_point(point, inputs);
    plan_.identity.inputs = digest_of(inputs.text());
    return std::move(errors_);
  }

 private:
  bool is_full() const { return errors_.size() >= kSweepErrorsMax; }

  /// Keeps an error once, with the place in the sweep's file where it names an override.
  void fail(Error error) {
    if (const int line = line_of(error.file); line > 0) {
      error.file = plan_.sweep.file;
      error.line = line;
    }
    if (known_.insert(error.text()).second && !is_full()) errors_.push_back(std::move(error));
  }

  void fail(const Errors& errors) {
    for (const Error& error : errors) fail(error);
  }

  /// Where the sweep's file says what `place` names; 0: nowhere.
  int line_of(const std::string& place) const {
    if (!place.starts_with("--set ")) return 0;
    const SweepFile& sweep = plan_.sweep;
    for (const SweepPolicy& policy : sweep.policies)
      if (place == scenarios::override_place({"policy", policy.value})) return policy.line;
    for (const SweepSetting& setting : sweep.fixed)
      if (place == scenarios::override_place(setting.override)) return setting.line;
    for (const SweepPoint& point : sweep.points)
      for (const auto& setting : point)
        if (setting && place == scenarios::override_place(setting->override)) return setting->line;
    return 0;
  }

  /// The scenario of a point as the sweep's policies find it: with its own policy.
  std::vector<scenarios::Override> own_overrides(std::size_t point) const {
    SweepFile own;
    own.fixed = plan_.sweep.fixed;
    own.points = {plan_.sweep.points[point]};
    own.policies = {SweepPolicy{}};
    return overrides_of(own, 0, 0);
  }

  void check_point(std::size_t point, ByteWriter& inputs) {
    SweepFile& sweep = plan_.sweep;
    const auto own = own_overrides(point);
    const auto scenario = scenarios::load_scenario(plan_.scenario, own);
    if (!scenario) {
      fail(scenario.errors());
      for (std::size_t policy = 0; policy < sweep.policies.size(); ++policy)
        check_policy(point, policy, {});
      return;
    }
    if (point == 0 || sweep.seeds.empty()) settle_choices(*scenario);
    inputs.string(input_digest(*scenario, own).to_hex());
    if (scenario->world == scenarios::World::Cluster)
      fail({.file = sweep.file,
            .line = sweep.scenario_line,
            .subject = "scenario",
            .message = "runs in world cluster, a sweep needs world model or sim; write for example "
                       "set: {world: model}"});
    JobModels models;
    if (check_ == SweepCheck::All && opens_new(own)) {
      const auto loaded = open_scenario(plan_.scenario, own, RunsUnder::Another);
      if (!loaded) {
        fail(loaded.errors());
        return;
      }
      models = loaded->workload.models();
      if (plan_.jobs_each == 0) plan_.jobs_each = jobs_expected(loaded->scenario, loaded->workload);
    }
    for (std::size_t policy = 0; policy < sweep.policies.size(); ++policy)
      check_policy(point, policy, models);
  }

  /// Whether there is such a policy, whatever its parameters and the scenario.
  void check_name(const SweepPolicy& policy) {
    scenarios::Scenario any;
    const Status known = choose_policy(any, policy.name, "policies");
    if (known) return;
    Error error = known.errors().front();
    error.file = plan_.sweep.file;
    error.line = policy.line;
    unknown_.insert(policy.name);
    fail(std::move(error));
  }

  /// The scenario's own policy and seed where the file names none; a policy that is the scenario's
  /// own keeps the scenario's parameters.
  void settle_choices(const scenarios::Scenario& scenario) {
    SweepFile& sweep = plan_.sweep;
    if (sweep.seeds.empty()) sweep.seeds = {scenario.seed};
    if (sweep.policies.empty())
      sweep.policies = {{scenario.policy.name, scenario.policy.name, {}, 0}};
    for (SweepPolicy& policy : sweep.policies)
      if (policy.value == policy.name && policy.name == scenario.policy.name) policy.value.clear();
  }

  /// Whether the files that these overrides name have not been opened yet.
  bool opens_new(const std::vector<scenarios::Override>& overrides) {
    std::string key;
    for (const scenarios::Override& each : overrides) {
      const std::string first = each.path.substr(0, each.path.find_first_of(".["));
      if (first == "workload" || first == "failures" || first == "jobs" || first == "world" ||
          first == "fidelity" || first == "network")
        key += each.path + "=" + each.value + "\n";
    }
    return opened_.insert(key).second;
  }

  void check_policy(std::size_t point, std::size_t policy, const JobModels& models) {
    SweepFile& sweep = plan_.sweep;
    const SweepPolicy& choice = sweep.policies[policy];
    if (unknown_.contains(choice.name)) return;
    scenarios::PolicyChoice own;
    const auto scenario =
        scenarios::load_scenario(plan_.scenario, overrides_of(sweep, point, policy), &own);
    if (!scenario) fail(scenario.errors());
    Errors errors;
    if (!scenario) {
      errors = errors_of(own);
    } else if (const auto fresh = fresh_policy(*scenario, models); !fresh) {
      errors = fresh.errors();
    }
    if (!errors.empty()) {
      for (Error& error : errors)
        if (error.file.empty()) {
          error.file = sweep.file;
          error.line = choice.line;
        }
      for (Error& error : errors) error.subject = choice.label + ": " + error.subject;
      fail(errors);
    }
  }

  SweepPlan& plan_;
  SweepCheck check_;
  Errors errors_;
  std::set<std::string> known_;    // Texts of errors.
  std::set<std::string> unknown_;  // Names of policies.
  std::set<std::string> opened_;   // Overrides of workloads that were opened.
};

}  // namespace

Result<SweepPlan> plan_sweep(const std::string& path, SweepCheck check) {
  const auto text = read_input(path);
  if (!text) return text.errors();
  auto sweep = read_sweep(*text, path);
  if (!sweep) return sweep.errors();
  SweepPlan plan;
  plan.sweep = std::move(*sweep);
  std::error_code code;
  // Absolute, so that a process which runs cells elsewhere finds the same.
  plan.identity.file = std::filesystem::absolute(path, code).lexically_normal().string();
  plan.scenario = std::filesystem::absolute(plan.sweep.scenario, code).lexically_normal().string();
  plan.identity.scenario = plan.sweep.scenario;
  plan.identity.file_text = digest_of(*text);
  plan.identity.program = program_digest();
  Errors errors = SweepPlanner(plan, check).run();
  if (!errors.empty()) return errors;
  plan.cells = cells_of(plan.sweep);
  plan.identity.cells = plan.cells.size();
  return plan;
}

ExitCode run_cell(const SweepPlan& plan, const SweepCell& cell, ChildReport& report) {
  const auto loaded =
      open_scenario(plan.scenario, overrides_of(plan.sweep, cell.point, cell.policy));
  if (!loaded) {
    RunAnswer answer;
    answer.errors = loaded.errors();
    send_answer(answer, report);
    return ExitCode::BadInput;
  }
  scenarios::Scenario scenario = loaded->scenario;
  scenario.seed = cell.seed;
  return run_one(scenario, loaded->workload, {}, report);
}

}  // namespace orrery::cli
