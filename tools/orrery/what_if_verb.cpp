// replay with --policy or --set: a recorded run once more, under other decisions.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/placer/registry.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "sim/rehearsal/what_if.hpp"
#include "sim/reports/comparison_data.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/approximations.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/recorded_journal.hpp"
#include "tools/orrery/run_files.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/summary_table.hpp"
#include "tools/orrery/verb_functions.hpp"
#include "tools/orrery/what_if_text.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;
using sim::JobDifference;
using sim::JobOutcome;

/// One what-if of the command line.
struct Asked {
  scenarios::Scenario scenario;
  std::string folder;  ///< Its name below --out.
};

/// Stops at once when a user wants it.
class InterruptListener final : public sim::RunListener {
 public:
  bool on_progress(const sim::RunProgress&) override { return interrupted(); }
};

/// The placer that a user has chosen; empty: the policy's own was in charge.
std::string chosen_placer(const Settings& settings) {
  const std::string placer = settings.placer.substr(0, settings.placer.find('/'));
  scenarios::Scenario recorded;
  recorded.policy.name = settings.policy.substr(0, settings.policy.find('/'));
  const auto policy = fresh_policy(recorded, {});
  if (!policy) return placer;
  const std::string usual(placers::named((*policy)->usual_placer()).name());
  return usual == settings.placer || settings.placer.empty() ? "" : placer;
}

Status check_policies(const std::vector<std::string>& names) {
  Errors errors;
  for (const std::string& name : names) {
    scenarios::Scenario any;
    const Status known = choose_policy(any, name, "--policy");
    if (!known) errors.insert(errors.end(), known.errors().begin(), known.errors().end());
  }
  if (!errors.empty()) return errors;
  return Done{};
}

/// What the command line asks for, with all that is wrong at once.
Result<std::vector<Asked>> asked_for(const Arguments& arguments,
                                     const sim::RecordedBasis& rehearsal,
                                     const std::string& journal) {
  const auto overrides = overrides_of(arguments);
  if (!overrides) return overrides.errors();
  auto base = sim::what_if_scenario(
      rehearsal, journal, chosen_placer(rehearsal.recorded.settings), *overrides);
  if (!base) return base.errors();
  std::vector<std::string> names{base->policy.name};
  if (const auto text = arguments.value("--policy")) {
    const auto list = comma_list("--policy", *text);
    if (!list) return list.errors();
    names = *list;
  }
  Errors errors;
  std::vector<Asked> out;
  auto chosen = choose_policies(*base, names, "--policy");
  if (!chosen) return chosen.errors();
  for (scenarios::Scenario& scenario : *chosen) {
    Asked asked{std::move(scenario), {}};
    asked.folder = asked.scenario.policy.name;
    const auto policy = fresh_policy(asked.scenario, {});
    if (!policy) {
      errors.insert(errors.end(), policy.errors().begin(), policy.errors().end());
      continue;
    }
    out.push_back(std::move(asked));
  }
  if (!errors.empty()) return errors;
  return out;
}

/// Jobs that the cluster of a what-if cannot hold, with what they lack.
std::vector<std::string> lacks_of(const StuckListener& stuck) {
  std::vector<std::string> out;
  for (const std::string& lack : stuck.lacks())
    out.push_back(lack + "; give the cluster of the what-if such nodes with --set cluster...");
  if (stuck.infeasible() > stuck.lacks().size())
    out.push_back(std::to_string(stuck.infeasible() - stuck.lacks().size()) +
                  " more jobs can never fit on the cluster of the what-if");
  return out;
}

Result<WhatIfTold> told_of(const sim::RecordedBasis& rehearsal,
                           const Asked& asked,
                           std::uint64_t infeasible,
                           const std::filesystem::path& folder) {
  const auto policy = fresh_policy(asked.scenario, {});
  if (!policy) return policy.errors();
  sim::RunOptions options;
  options.fresh_policy = [&] {
    auto fresh = fresh_policy(asked.scenario, {});
    return fresh ? std::move(*fresh) : nullptr;
  };
  InterruptListener interrupt;
  StuckListener stuck(rehearsal.recorded.jobs.size());
  RunFiles files(asked.scenario, folder, asked.scenario.faults);
  options.listeners = {&interrupt, &stuck};
  files.listen(options.listeners);
  auto run = sim::run_what_if(rehearsal, asked.scenario, **policy, options);
  if (!run) return run.errors();
  WhatIfTold told{std::move(*run), {}, {}};
  if (stuck.infeasible() > infeasible) told.remarks = lacks_of(stuck);
  told.jobs = sim::differences(rehearsal, told.run);
  const Status written = files.finish(told.run.report, told.run.report.warnings);
  if (!written) return written.errors();
  return told;
}

sim::ComparedRun compared(const sim::Summary& summary,
                          const sim::Metrics& metrics,
                          const std::string& page) {
  const std::size_t points = sim::PageLimits{}.sample_max;
  const auto ratios = sim::job_ratios(metrics.jobs(), metrics.away(), 0, Instant::zero());
  return {.summary = summary,
          .page = page,
          .jct = sim::completion_times(metrics.jobs(), points),
          .waiting = sim::waiting_times(metrics.jobs(), points),
          .slowdown = sim::slowdowns(ratios, points)};
}

/// The recorded run's own files, from a second look at the journal.
Status write_recorded(SqliteStore& store,
                      scenarios::Scenario scenario,
                      const std::string& name,
                      const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  RunFiles files(scenario, folder, {});
  std::vector<sim::RunListener*> listeners;
  files.listen(listeners);
  auto again = sim::read_recorded_run(store, name, listeners);
  if (!again) return again.errors();
  sim::RunReport report;
  report.summary = again->summary;
  report.ended_at = again->end;
  report.metrics = std::move(again->metrics);
  return files.finish(report, report.warnings);
}

std::vector<sim::JobChange> changes_of(const std::vector<WhatIfTold>& all) {
  std::vector<sim::JobChange> out;
  for (std::size_t k = 0; k < all.front().jobs.size(); ++k) {
    sim::JobChange change;
    const JobDifference& first = all.front().jobs[k];
    change.name = first.name;
    change.work_known = to_string(first.known);
    const auto add = [&](const JobOutcome* job) {
      const auto from = [&](Instant JobOutcome::*what) {
        return job == nullptr || (job->*what).is_never()
                   ? std::optional<double>()
                   : std::optional<double>((job->*what - job->submitted).in_seconds());
      };
      change.waited_s.push_back(from(&JobOutcome::started));
      change.completed_s.push_back(job != nullptr && job->phase == JobPhase::Succeeded
                                       ? from(&JobOutcome::finished)
                                       : std::nullopt);
      change.restarts.push_back(job == nullptr ? 0 : job->restarts + job->reschedules);
    };
    add(first.recorded);
    for (const WhatIfTold& told : all) add(told.jobs[k].now);
    out.push_back(std::move(change));
  }
  return out;
}

Status write_page(const sim::RecordedBasis& rehearsal,
                  const std::vector<Asked>& asked,
                  const std::vector<WhatIfTold>& all,
                  const std::filesystem::path& path) {
  std::vector<sim::ComparedRun> runs;
  sim::Summary recorded = rehearsal.recorded.summary;
  recorded.policy += " (recorded)";
  runs.push_back(compared(recorded, *rehearsal.recorded.metrics, "recorded/report.html"));
  for (std::size_t i = 0; i < all.size(); ++i)
    runs.push_back(compared(
        all[i].run.report.summary, *all[i].run.report.metrics, asked[i].folder + "/report.html"));
  for (sim::ComparedRun& run : runs) run.summary.seed = recorded.seed;
  std::vector<std::string> approximated = what_if_remarks(rehearsal);
  for (const WhatIfTold& told : all)
    approximated.insert(approximated.end(), told.remarks.begin(), told.remarks.end());
  const std::vector<sim::JobChange> changes = changes_of(all);
  const sim::ComparisonPage page{
      .fidelity = "L0", .runs = runs, .approximated = approximated, .jobs = changes};
  return write_file(path, sim::report_page(sim::comparison_page_data(page)));
}

class WhatIfVerb {
 public:
  WhatIfVerb(const Arguments& arguments, Console& console)
      : arguments_(arguments), console_(console), journal_(arguments.operands().front()) {}

  ExitCode run() {
    if (const auto list = arguments_.value("--policy")) {
      // An unknown name is found before a long journal is read.
      const auto names = comma_list("--policy", *list);
      if (!names) return refuse(names.errors());
      if (const Status known = check_policies(*names); !known) return refuse(known.errors());
    }
    const auto store = whole_journal(journal_);
    if (!store) return refuse(store.errors());
    StuckListener stuck(0);
    auto recorded = recorded_journal(**store, journal_, {&stuck});
    infeasible_ = stuck.infeasible();
    if (interrupted()) return ExitCode::Interrupted;
    if (!recorded) return refuse(recorded.errors());
    if (recorded->jobs.empty())
      return refuse({{.file = journal_,
                      .message = "records no submission, a what-if needs one at least; name the "
                                 "journal of a controller that ran jobs"}});
    sim::RecordedBasis rehearsal{std::move(*recorded), {}};
    rehearsal.truth = sim::truth_of(rehearsal.recorded);
    auto asked = asked_for(arguments_, rehearsal, journal_);
    if (!asked) return refuse(asked.errors());
    if (const auto overrides = overrides_of(arguments_)) {
      if (const auto rescale = sim::rescale_set_in(asked->front().scenario, *overrides)) {
        rehearsal.truth = sim::truth_of(rehearsal.recorded, rescale);
        asked = asked_for(arguments_, rehearsal, journal_);
        if (!asked) return refuse(asked.errors());
      }
      sim::forget_what_is_set(*overrides, rehearsal.truth.assumed);
    }
    return rehearse(**store, rehearsal, *asked);
  }

 private:
  ExitCode refuse(const Errors& errors) {
    console_.errors(errors);
    return ExitCode::BadInput;
  }

  ExitCode rehearse(SqliteStore& store,
                    const sim::RecordedBasis& rehearsal,
                    const std::vector<Asked>& asked) {
    std::optional<OutputFolder> folder;
    if (const auto path = output_path(arguments_, asked.front().scenario)) {
      auto prepared = OutputFolder::prepare(*path, {journal_});
      if (!prepared) return refuse(prepared.errors());
      folder.emplace(std::move(*prepared));
    }
    std::vector<WhatIfTold> all;
    for (const Asked& each : asked) {
      std::filesystem::path own;
      if (folder) {
        own = folder->scratch() / each.folder;
        std::filesystem::create_directory(own);
      }
      auto told = told_of(rehearsal, each, infeasible_, own);
      if (interrupted()) return ExitCode::Interrupted;
      if (!told) return refuse(told.errors());
      all.push_back(std::move(*told));
    }
    if (folder) {
      const Status written = write_all(store, rehearsal, asked, all, *folder);
      if (!written) return refuse(written.errors());
    }
    print(rehearsal, all);
    const bool well =
        std::ranges::all_of(all, [](const WhatIfTold& told) { return told.remarks.empty(); });
    return well ? ExitCode::Met : ExitCode::Unmet;
  }

  Status write_all(SqliteStore& store,
                   const sim::RecordedBasis& rehearsal,
                   const std::vector<Asked>& asked,
                   const std::vector<WhatIfTold>& all,
                   OutputFolder& folder) {
    scenarios::Scenario as_recorded = asked.front().scenario;
    as_recorded.groups = rehearsal.recorded.groups;
    Status written = write_recorded(store, as_recorded, journal_, folder.scratch() / "recorded");
    if (written)
      written = write_file(folder.scratch() / "what_if.json",
                           what_if_json(rehearsal, all, sim::MeasuredAs::SubObject));
    if (written && sim::report_page_absence().empty())
      written = write_page(rehearsal, asked, all, folder.scratch() / "report.html");
    return written ? folder.finish() : written;
  }

  void print(const sim::RecordedBasis& rehearsal, const std::vector<WhatIfTold>& all) {
    if (arguments_.has("--json")) {
      console_.out(what_if_json(rehearsal, all, sim::MeasuredAs::Fields));
      return;
    }
    const ConsoleTraits& traits = console_.traits();
    std::vector<sim::Summary> summaries{rehearsal.recorded.summary};
    summaries.front().policy += " (recorded)";
    for (const WhatIfTold& told : all) summaries.push_back(told.run.report.summary);
    console_.out(journal_ + ": " + std::to_string(rehearsal.recorded.jobs.size()) +
                 " jobs, recorded over " + time_in_words(rehearsal.recorded.end.in_seconds()) +
                 "\n");
    console_.out(runs_table(summaries, traits.colour, traits.table_width()));
    for (const WhatIfTold& told : all) {
      console_.out("\n" + told.run.report.summary.policy + ": " + what_if_counts(told));
      console_.out(what_if_table(told, traits));
      if (told.jobs.size() > kWhatIfJobsShown)
        console_.out("the " + std::to_string(kWhatIfJobsShown) + " of " +
                     std::to_string(told.jobs.size()) +
                     " jobs that change most; --json or --out DIR tell of all\n");
    }
    for (const std::string& sentence : what_if_remarks(rehearsal))
      console_.err("remark: " + sentence + "\n");
    for (const WhatIfTold& told : all)
      for (const std::string& remark : told.remarks)
        console_.err(journal_ + ": " + told.run.report.summary.policy + ": " + remark + "\n");
  }

  const Arguments& arguments_;
  Console& console_;
  std::string journal_;
  std::uint64_t infeasible_ = 0;  ///< Jobs that did not fit on the recorded cluster either.
};

}  // namespace

ExitCode run_what_if(const Arguments& arguments, Console& console) {
  return WhatIfVerb(arguments, console).run();
}

}  // namespace orrery::cli
