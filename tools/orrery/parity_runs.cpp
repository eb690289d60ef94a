#include "tools/orrery/parity_runs.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "core/driver/memory_store.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "sim/calibration/observed_times.hpp"
#include "sim/run/run.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/orrery/cluster_parts.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/recorded_journal.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// A folder for the sockets of runs, whose paths must be short.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "orrery-parity-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }

  ~ScratchFolder() {
    std::error_code code;
    if (!path_.empty()) fs::remove_all(path_, code);
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Once in world cluster, without a look at expectations: what is measured counts as it is.
ExitCode run_once(const LoadedScenario& loaded, const std::string& keep, ChildReport& report) {
  RunAnswer answer;
  const scenarios::Scenario scaled = in_real_time(loaded.scenario);
  const auto policy = fresh_policy(scaled, loaded.workload.models());
  if (policy) {
    const auto ran = run_in_world_cluster(scaled, loaded.workload, **policy, {}, keep);
    if (ran) {
      answer.summary = ran->summary;
      answer.warnings = ran->warnings;
    } else {
      answer.errors = ran.errors();
    }
  } else {
    answer.errors = policy.errors();
  }
  const bool well = answer.errors.empty();
  send_answer(answer, report);
  return well ? ExitCode::Met : ExitCode::BadInput;
}

std::map<std::string, double> units_of(const scenarios::Scenario& scenario) {
  std::map<std::string, double> out;
  for (const scenarios::ScenarioJob& job : scenario.jobs)
    if (job.work.units > 0) out[job.spec.name] = job.work.units;
  return out;
}

/// Jobs that say themselves how long they take to start tell nothing of others.
void leave_out_own_starts(const scenarios::Scenario& scenario, sim::RecordedRun& run) {
  for (sim::RecordedJob& job : run.jobs)
    for (const scenarios::ScenarioJob& written : scenario.jobs)
      if (written.spec.name == job.spec->name && written.ready_after) job.starts.clear();
}

Result<sim::RunFigures> figures_of_model(const scenarios::Scenario& scenario,
                                         const sim::LoadedWorkload& workload) {
  const auto policy = fresh_policy(scenario, workload.models());
  if (!policy) return policy.errors();
  MemoryStore store;
  sim::RunOptions options;
  options.store = &store;
  options.fresh_policy = [&] {
    auto fresh = fresh_policy(scenario, workload.models());
    return fresh ? std::move(*fresh) : nullptr;
  };
  const auto ran = sim::run_model(scenario, workload, **policy, options);
  if (!ran) return ran.errors();
  return sim::run_figures(store, scenario.name, units_of(scenario), Duration::zero());
}

using AllFigures = std::vector<sim::RunFigures>;

/// Reads the journals of one scenario and predicts them; then, when what all scenarios tell of the
/// spread is known, compares.
class ParityMaker {
 public:
  ParityMaker(const LoadedScenario& loaded, const ParityPlan& plan, fs::path journals)
      : loaded_(loaded),
        plan_(plan),
        journals_(std::move(journals)),
        scaled_(in_real_time(loaded.scenario)) {}

  Status read(sim::HeldOutRatios& held_out) {
    auto calibration = learn(kNone);
    if (!calibration) return calibration.errors();
    calibration_ = std::move(*calibration);
    for (std::size_t run = 0; run < plan_.measured; ++run) {
      auto figures = figures_of_journal(plan_.training + run);
      if (!figures) return figures.errors();
      measured_.push_back(std::move(*figures));
    }
    auto predicted = predict(calibration_);
    if (!predicted) return predicted.errors();
    predicted_ = std::move(*predicted);
    return hold_out(held_out);
  }

  Result<ParityScenario> compare(const sim::HeldOutRatios& held_out) {
    ParityScenario out;
    out.name = loaded_.scenario.name;
    out.description = loaded_.scenario.description;
    out.policy = loaded_.scenario.policy.name;
    out.time_scale = loaded_.scenario.time_scale;
    scenarios::Scenario uncalibrated = scaled_;
    uncalibrated.world = scenarios::World::Model;
    uncalibrated.fidelity = scenarios::Fidelity::L0;
    uncalibrated.timing = {};
    uncalibrated.timing.checkpoint_interval = scaled_.timing.checkpoint_interval;
    uncalibrated.timing.checkpoint_cost = scaled_.timing.checkpoint_cost;
    const auto without = figures_of_model(uncalibrated, loaded_.workload);
    if (!without) return without.errors();
    out.parity = sim::compare_runs(measured_, predicted_, *without, held_out);
    out.remarks = calibration_.remarks;
    out.calibration = std::move(calibration_);
    return out;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// Each training run is predicted from the others, as those are that are measured from them all.
  Status hold_out(sim::HeldOutRatios& ratios) const {
    if (plan_.training < 2) return Done{};
    for (std::size_t run = 0; run < plan_.training; ++run) {
      const auto calibration = learn(run);
      if (!calibration) continue;  // The others alone started nothing.
      const auto figures = figures_of_journal(run);
      if (!figures) return figures.errors();
      const auto predicted = predict(*calibration);
      if (!predicted) return predicted.errors();
      sim::add_ratios(*figures, *predicted, ratios);
    }
    return Done{};
  }

  Result<AllFigures> predict(const sim::Calibration& calibration) const {
    AllFigures out;
    scenarios::Scenario predicting = predicting_scenario(scaled_, calibration);
    for (std::size_t run = 0; run < plan_.predicted; ++run) {
      predicting.timing.spread.draws = run;
      auto figures = figures_of_model(predicting, loaded_.workload);
      if (!figures) return figures.errors();
      out.push_back(std::move(*figures));
    }
    return out;
  }

  std::string journal_of(std::size_t run) const {
    return (journals_ / (loaded_.scenario.name + "-" + std::to_string(run + 1)) / "journal.db")
        .string();
  }

  /// From all training runs but one.
  Result<sim::Calibration> learn(std::size_t left_out) const {
    std::vector<sim::ObservedTimes> observed;
    for (std::size_t run = 0; run < plan_.training; ++run) {
      if (run == left_out) continue;
      auto recorded = recorded_journal(journal_of(run), {});
      if (!recorded) return recorded.errors();
      leave_out_own_starts(scaled_, *recorded);
      observed.push_back(sim::observed_times(*recorded, kJournalNoise));
    }
    return sim::fit(observed, kJournalNoise);
  }

  Result<sim::RunFigures> figures_of_journal(std::size_t run) const {
    const std::string path = journal_of(run);
    auto store = runtime::SqliteStore::open(path, runtime::SqliteStore::Access::ReadOnly);
    if (!store) return store.errors();
    return sim::run_figures(**store, path, units_of(scaled_), kJournalNoise);
  }

  const LoadedScenario& loaded_;
  const ParityPlan& plan_;
  fs::path journals_;
  scenarios::Scenario scaled_;
  sim::Calibration calibration_;
  AllFigures measured_;
  AllFigures predicted_;
};

/// The journal of a run out of the scratch folder, with what SQLite keeps beside it.
Status keep_journal(const fs::path& run, const fs::path& to) {
  std::error_code code;
  fs::create_directories(to, code);
  for (const char* part : {"journal.db", "journal.db-wal"})
    if (fs::exists(run / part, code)) {
      fs::copy_file(run / part, to / part, fs::copy_options::overwrite_existing, code);
      if (code)
        return Error{
            .file = (to / part).string(),
            .message = "cannot be written: " + code.message() + "; check the disk and its rights"};
    }
  return Done{};
}

}  // namespace

scenarios::Scenario predicting_scenario(const scenarios::Scenario& scaled,
                                        const sim::Calibration& calibration) {
  scenarios::Scenario out = scaled;
  out.world = scenarios::World::Model;
  out.fidelity = scenarios::Fidelity::L0;
  const scenarios::Timing& learned = calibration.timing;
  scenarios::Timing& timing = out.timing;
  const bool first = calibration.find(sim::TimeKind::Start) != nullptr;
  const bool again = calibration.find(sim::TimeKind::Restart) != nullptr;
  if (first || again) {
    const Duration longer = learned.start - timing.start;
    for (scenarios::ScenarioJob& job : out.jobs)
      if (job.ready_after && !job.ready_after->is_forever())
        job.ready_after = std::max(Duration::zero(), *job.ready_after + longer);
    timing.start = learned.start;
    timing.spread.start = learned.spread.start;
  }
  if (first && again) {
    timing.restore = learned.restore;
    timing.spread.restore = learned.spread.restore;
  }
  if (calibration.find(sim::TimeKind::Stop) != nullptr) {
    timing.stop = learned.stop;
    timing.spread.stop = learned.spread.stop;
  }
  if (calibration.find(sim::TimeKind::Rescale) != nullptr) {
    timing.rescale = learned.rescale;
    timing.spread.rescale = learned.spread.rescale;
  }
  if (calibration.planner_latency > Duration::zero())
    out.planner_latency = calibration.planner_latency;
  return out;
}

Result<std::vector<ParityScenario>> run_parity_plan(const std::vector<LoadedScenario>& scenarios,
                                                    const ParityPlan& plan,
                                                    const fs::path& journals,
                                                    Console& console) {
  const ScratchFolder scratch;
  if (scratch.path().empty())
    return Error{.file = fs::temp_directory_path().string(),
                 .message = "no folder can be made in it; check the disk and its rights"};

  struct Run {
    const LoadedScenario* loaded = nullptr;
    fs::path folder;
    std::string name;
  };

  // In turns, so that what changes on the machine meanwhile meets all scenarios alike.
  std::vector<Run> runs;
  for (std::size_t run = 0; run < plan.training + plan.measured; ++run)
    for (const LoadedScenario& loaded : scenarios)
      runs.push_back({&loaded,
                      scratch.path() / std::to_string(runs.size()),
                      loaded.scenario.name + "-" + std::to_string(run + 1)});
  std::vector<Task> tasks;
  for (const Run& run : runs)
    tasks.emplace_back(
        [&run](ChildReport& report) { return run_once(*run.loaded, run.folder.string(), report); });
  const auto ends = run_with_bar(tasks, plan.parallel, 0, "parity", console);
  if (interrupted()) return Error{.message = "interrupted"};
  Errors errors;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const RunAnswer answer = answer_of(ends[i]);
    append(errors, answer.errors);
    if (!answer.errors.empty()) continue;
    if (const Status kept = keep_journal(runs[i].folder, journals / runs[i].name); !kept)
      append(errors, kept.errors());
  }
  if (!errors.empty()) return errors;
  std::vector<ParityMaker> makers;
  sim::HeldOutRatios held_out;
  for (const LoadedScenario& loaded : scenarios) {
    makers.emplace_back(loaded, plan, journals);
    if (const Status read = makers.back().read(held_out); !read) return read.errors();
  }
  std::vector<ParityScenario> out;
  for (ParityMaker& maker : makers) {
    auto made = maker.compare(held_out);
    if (!made) return made.errors();
    out.push_back(std::move(*made));
  }
  return out;
}

}  // namespace orrery::cli
