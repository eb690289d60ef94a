// replay with --policy or --set: a recorded run once more, under other decisions.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/placer/registry.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "sim/rehearsal/what_if.hpp"
#include "sim/reports/comparison_data.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/approximations.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/run_files.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/summary_table.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;
using sim::JobDifference;
using sim::JobOutcome;

constexpr std::size_t kJobsShown = 20;

/// One what-if of the command line.
struct Asked {
  scenarios::Scenario scenario;
  std::string folder;  ///< Its name below --out.
};

/// One that has run.
struct Told {
  sim::WhatIfRun run;
  std::vector<JobDifference> jobs;
  std::vector<std::string> remarks;
};

double seconds_from(const JobOutcome& job, Instant at) { return (at - job.submitted).in_seconds(); }

/// How much later, in seconds; nothing where either has no such instant.
std::optional<double> later(const JobDifference& job, Instant JobOutcome::*what) {
  if (job.recorded == nullptr || job.now == nullptr) return std::nullopt;
  const Instant then = job.recorded->*what;
  const Instant now = job.now->*what;
  if (then.is_never() || now.is_never()) return std::nullopt;
  return (now - then).in_seconds();
}

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
                                     const sim::Rehearsal& rehearsal,
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
  for (const std::string& name : names) {
    Asked asked{*base, name};
    const Status chosen = choose_policy(asked.scenario, name, "--policy");
    if (!chosen) {
      errors.insert(errors.end(), chosen.errors().begin(), chosen.errors().end());
      continue;
    }
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

/// What the journal does not tell, in sentences.
std::vector<std::string> said_of(const sim::Rehearsal& rehearsal) {
  std::vector<std::string> out;
  std::map<sim::WorkKnown, std::uint64_t> counts;
  std::uint64_t assumed = 0;
  for (std::size_t k = 0; k < rehearsal.truth.jobs.size(); ++k) {
    if (rehearsal.recorded.jobs[k].id.is_none()) continue;
    const sim::JobTruth& truth = rehearsal.truth.jobs[k];
    ++counts[truth.known];
    assumed += truth.sizes_assumed ? 1 : 0;
  }
  const auto say = [&](std::uint64_t count, const std::string& what) {
    if (count > 0) out.push_back(std::to_string(count) + (count == 1 ? " job " : " jobs ") + what);
  };
  say(counts[sim::WorkKnown::Averaged],
      "changed speed at one size: work is from the mean of each size (averaged)");
  say(counts[sim::WorkKnown::Timed],
      "told of no progress: work is the time that workers ran (timed)");
  say(counts[sim::WorkKnown::Reported],
      "did not come to an end: work is what was reported as remaining (reported)");
  say(counts[sim::WorkKnown::Stated],
      "did not come to an end: work is the run time that was stated (stated)");
  say(counts[sim::WorkKnown::History],
      "did not come to an end: work is the median of like jobs (history)");
  say(counts[sim::WorkKnown::Nothing],
      "did not come to an end, and no other did: work is a guess (nothing)");
  say(assumed, "may have sizes that were not seen: speed there is extrapolated");
  out.insert(out.end(), rehearsal.truth.assumed.begin(), rehearsal.truth.assumed.end());
  out.insert(out.end(), rehearsal.recorded.left_out.begin(), rehearsal.recorded.left_out.end());
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

Result<Told> told_of(const sim::Rehearsal& rehearsal,
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
  RunFiles files(asked.scenario, folder);
  options.listeners = {&interrupt, &stuck};
  files.listen(options.listeners);
  auto run = sim::run_what_if(rehearsal, asked.scenario, **policy, options);
  if (!run) return run.errors();
  Told told{std::move(*run), {}, {}};
  if (stuck.infeasible() > infeasible) told.remarks = lacks_of(stuck);
  told.jobs = sim::differences(rehearsal, told.run);
  const Status written = files.finish(told.run.report, told.run.report.warnings);
  if (!written) return written.errors();
  return told;
}

// --- for people ---

std::string change_text(std::optional<double> seconds) {
  if (!seconds) return "-";
  if (std::abs(*seconds) < 0.0005) return "0";
  return (*seconds > 0 ? "+" : "") + with_commas(*seconds, std::abs(*seconds) < 10 ? 3 : 1);
}

std::string after_text(const JobOutcome* job, Instant JobOutcome::*what) {
  if (job == nullptr) return "refused";
  if ((job->*what).is_never()) return "never";
  return with_commas(seconds_from(*job, job->*what), 1);
}

std::string restarts_text(const JobDifference& job) {
  const auto of = [](const JobOutcome* outcome) {
    return outcome == nullptr ? std::string("-")
                              : std::to_string(outcome->restarts + outcome->reschedules);
  };
  return of(job.recorded) + " > " + of(job.now);
}

/// How much a job's completion has changed, for the order of the table; most where it came to none.
double weight_of(const JobDifference& job) {
  const auto change = later(job, &JobOutcome::finished);
  if (change) return std::abs(*change);
  const bool was = job.recorded != nullptr && !job.recorded->finished.is_never();
  const bool is = job.now != nullptr && !job.now->finished.is_never();
  return was == is ? 0 : 1e18;
}

std::string jobs_table(const Told& told, const ConsoleTraits& traits) {
  std::vector<const JobDifference*> order;
  for (const JobDifference& job : told.jobs) order.push_back(&job);
  std::ranges::stable_sort(order, [](const JobDifference* a, const JobDifference* b) {
    return weight_of(*a) > weight_of(*b);
  });
  if (order.size() > kJobsShown) order.resize(kJobsShown);
  Table table({{.title = "job", .left = true},
               {.title = "waited (s)", .spare = 3},
               {.title = "what-if"},
               {.title = "change"},
               {.title = "completed after (s)", .spare = 2},
               {.title = "what-if"},
               {.title = "change"},
               {.title = "restarts", .spare = 4},
               {.title = "work is", .left = true, .spare = 1}});
  for (const JobDifference* job : order)
    table.add_row({{.text = job->name},
                   {.text = after_text(job->recorded, &JobOutcome::started)},
                   {.text = after_text(job->now, &JobOutcome::started)},
                   {.text = change_text(later(*job, &JobOutcome::started))},
                   {.text = after_text(job->recorded, &JobOutcome::finished)},
                   {.text = after_text(job->now, &JobOutcome::finished)},
                   {.text = change_text(later(*job, &JobOutcome::finished))},
                   {.text = restarts_text(*job)},
                   {.text = std::string(to_string(job->known))}});
  return table.text(traits.colour, traits.table_width());
}

struct Counts {
  std::uint64_t sooner = 0;
  std::uint64_t same = 0;
  std::uint64_t later = 0;
};

Counts counts_of(const Told& told) {
  Counts out;
  for (const JobDifference& job : told.jobs) {
    const auto change = later(job, &JobOutcome::finished);
    if (!change) continue;
    ++(*change < 0 ? out.sooner : *change > 0 ? out.later : out.same);
  }
  return out;
}

std::string counts_text(const Told& told) {
  const Counts counts = counts_of(told);
  return std::to_string(counts.sooner) + " jobs complete sooner than recorded, " +
         std::to_string(counts.later) + " later, " + std::to_string(counts.same) +
         " at the same instant\n";
}

// --- for programs ---

void put_instant(JsonText& json,
                 std::string_view key,
                 const JobOutcome* job,
                 Instant JobOutcome::*what) {
  if (job == nullptr || (job->*what).is_never())
    json.key(key).null();
  else
    json.field(key, (job->*what).in_seconds());
}

void put_outcome(JsonText& json, std::string_view key, const JobOutcome* job) {
  json.key(key);
  if (job == nullptr) {
    json.null();
    return;
  }
  json.begin_object();
  json.field("submitted_s", job->submitted.in_seconds());
  put_instant(json, "started_s", job, &JobOutcome::started);
  put_instant(json, "completed_s", job, &JobOutcome::finished);
  json.field("phase", to_string(job->phase));
  json.field("restarts", std::uint64_t{job->restarts});
  json.field("reschedules", std::uint64_t{job->reschedules});
  json.field("preemptions", std::uint64_t{job->preemptions});
  json.end_object();
}

void put_change(JsonText& json, std::string_view key, std::optional<double> change) {
  if (change)
    json.field(key, *change);
  else
    json.key(key).null();
}

void put_jobs(JsonText& json, const Told& told) {
  json.key("jobs").begin_array();
  for (const JobDifference& job : told.jobs) {
    json.begin_object().field("name", job.name).field("work_known", to_string(job.known));
    json.field("sizes_assumed", job.sizes_assumed);
    put_outcome(json, "recorded", job.recorded);
    put_outcome(json, "what_if", job.now);
    put_change(json, "start_change_s", later(job, &JobOutcome::started));
    put_change(json, "completion_change_s", later(job, &JobOutcome::finished));
    json.end_object();
  }
  json.end_array();
}

std::string json_of(const sim::Rehearsal& rehearsal,
                    const std::vector<Told>& all,
                    sim::MeasuredAs measured) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("recorded");
  sim::put_summary(rehearsal.recorded.summary, measured, json);
  json.key("assumed").begin_array();
  for (const std::string& sentence : said_of(rehearsal)) json.value(sentence);
  json.end_array().key("what_if").begin_array();
  for (const Told& told : all) {
    json.begin_object().key("summary");
    sim::put_summary(told.run.report.summary, measured, json);
    const Counts counts = counts_of(told);
    json.field("jobs_sooner", counts.sooner).field("jobs_later", counts.later);
    json.field("jobs_same", counts.same).key("remarks").begin_array();
    for (const std::string& remark : told.remarks) json.value(remark);
    json.end_array();
    put_jobs(json, told);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

// --- files ---

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
  scenario.faults.clear();
  RunFiles files(scenario, folder);
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

std::vector<sim::JobChange> changes_of(const std::vector<Told>& all) {
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
                   : std::optional<double>(seconds_from(*job, job->*what));
      };
      change.waited_s.push_back(from(&JobOutcome::started));
      change.completed_s.push_back(from(&JobOutcome::finished));
      change.restarts.push_back(job == nullptr ? 0 : job->restarts + job->reschedules);
    };
    add(first.recorded);
    for (const Told& told : all) add(told.jobs[k].now);
    out.push_back(std::move(change));
  }
  return out;
}

Status write_page(const sim::Rehearsal& rehearsal,
                  const std::vector<Asked>& asked,
                  const std::vector<Told>& all,
                  const std::filesystem::path& path) {
  std::vector<sim::ComparedRun> runs;
  sim::Summary recorded = rehearsal.recorded.summary;
  recorded.policy += " (recorded)";
  runs.push_back(compared(recorded, *rehearsal.recorded.metrics, "recorded/report.html"));
  for (std::size_t i = 0; i < all.size(); ++i)
    runs.push_back(compared(
        all[i].run.report.summary, *all[i].run.report.metrics, asked[i].folder + "/report.html"));
  for (sim::ComparedRun& run : runs) run.summary.seed = recorded.seed;
  std::vector<std::string> approximated = said_of(rehearsal);
  for (const Told& told : all)
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
    auto store = SqliteStore::open(journal_, SqliteStore::Access::ReadOnly);
    if (!store) return refuse(store.errors());
    if ((*store)->first() != Sequence{1})
      return refuse(
          {{.file = journal_,
            .message = "its records up to " + std::to_string((*store)->first().value - 1) +
                       " were dropped, a what-if needs all; keep them with store.pruning: keep "
                       "or archive"}});
    StuckListener stuck(0);
    auto recorded = sim::read_recorded_run(**store, journal_, {&stuck});
    infeasible_ = stuck.infeasible();
    if (interrupted()) return ExitCode::Interrupted;
    if (!recorded) return refuse(in_journal(recorded.errors()));
    if (recorded->jobs.empty())
      return refuse({{.file = journal_,
                      .message = "records no submission, a what-if needs one at least; name the "
                                 "journal of a controller that ran jobs"}});
    sim::Rehearsal rehearsal{std::move(*recorded), {}};
    rehearsal.truth = sim::truth_of(rehearsal.recorded);
    const auto asked = asked_for(arguments_, rehearsal, journal_);
    if (!asked) return refuse(asked.errors());
    return rehearse(**store, rehearsal, *asked);
  }

 private:
  ExitCode refuse(const Errors& errors) {
    console_.errors(errors);
    return ExitCode::BadInput;
  }

  Errors in_journal(Errors errors) const {
    for (Error& error : errors)
      if (error.file.empty()) error.file = journal_;
    return errors;
  }

  ExitCode rehearse(SqliteStore& store,
                    const sim::Rehearsal& rehearsal,
                    const std::vector<Asked>& asked) {
    std::optional<OutputFolder> folder;
    if (const auto path = output_path(arguments_, asked.front().scenario)) {
      auto prepared = OutputFolder::prepare(*path);
      if (!prepared) return refuse(prepared.errors());
      folder.emplace(std::move(*prepared));
    }
    std::vector<Told> all;
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
        std::ranges::all_of(all, [](const Told& told) { return told.remarks.empty(); });
    return well ? ExitCode::Met : ExitCode::Unmet;
  }

  Status write_all(SqliteStore& store,
                   const sim::Rehearsal& rehearsal,
                   const std::vector<Asked>& asked,
                   const std::vector<Told>& all,
                   OutputFolder& folder) {
    scenarios::Scenario as_recorded = asked.front().scenario;
    as_recorded.groups = rehearsal.recorded.groups;
    Status written = write_recorded(store, as_recorded, journal_, folder.scratch() / "recorded");
    if (written)
      written = write_file(folder.scratch() / "what_if.json",
                           json_of(rehearsal, all, sim::MeasuredAs::SubObject));
    if (written && sim::report_page_absence().empty())
      written = write_page(rehearsal, asked, all, folder.scratch() / "report.html");
    return written ? folder.finish() : written;
  }

  void print(const sim::Rehearsal& rehearsal, const std::vector<Told>& all) {
    if (arguments_.has("--json")) {
      console_.out(json_of(rehearsal, all, sim::MeasuredAs::Fields));
      return;
    }
    const ConsoleTraits& traits = console_.traits();
    std::vector<sim::Summary> summaries{rehearsal.recorded.summary};
    summaries.front().policy += " (recorded)";
    for (const Told& told : all) summaries.push_back(told.run.report.summary);
    console_.out(journal_ + ": " + std::to_string(rehearsal.recorded.jobs.size()) +
                 " jobs, recorded over " + time_in_words(rehearsal.recorded.end.in_seconds()) +
                 "\n");
    console_.out(runs_table(summaries, traits.colour, traits.table_width()));
    for (const Told& told : all) {
      console_.out("\n" + told.run.report.summary.policy + ": " + counts_text(told));
      console_.out(jobs_table(told, traits));
      if (told.jobs.size() > kJobsShown)
        console_.out("the " + std::to_string(kJobsShown) + " of " +
                     std::to_string(told.jobs.size()) +
                     " jobs that change most; --json or --out DIR tell of all\n");
    }
    for (const std::string& sentence : said_of(rehearsal))
      console_.err("remark: " + sentence + "\n");
    for (const Told& told : all)
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
