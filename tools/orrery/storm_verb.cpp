// storm: random faults under the checker; what fails is made small.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/base/coverage_mark.hpp"
#include "core/base/json_text.hpp"
#include "core/base/stream_text.hpp"
#include "core/record/version.hpp"
#include "sim/storm/pins.hpp"
#include "sim/storm/scenario_yaml.hpp"
#include "sim/storm/shrink.hpp"
#include "sim/storm/storm_plan.hpp"
#include "sim/storm/storm_run.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/child_pool.hpp"
#include "tools/orrery/kept_runs.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/progress.hpp"
#include "tools/orrery/storm_runs.hpp"
#include "tools/orrery/storm_seeds.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kSeedsMax = 1'000'000'000'000;
constexpr std::size_t kShrunkAtMost = 3;
constexpr std::chrono::seconds kShrinkFor{60};

/// A failing seed made small, and where it was written.
struct Minimal {
  std::uint64_t seed = 0;
  std::string path;
  std::uint64_t runs = 0;
  std::string text;
};

SeedOutcome outcome_of(std::uint64_t seed, const sim::StormReport& storm) {
  SeedOutcome out{storm.events, storm.records, storm.leaders, storm.simulated, {}, false};
  if (storm.violations.empty()) return out;
  const sim::Violation& first = storm.violations.front();
  out.findings.push_back({seed, std::string(to_string(first.kind)), first.at, first.text});
  // A broken invariant leaves the core as it stands.
  out.spoils_process = first.kind == sim::ViolationKind::Invariant;
  return out;
}

/// Whether nothing breaks, tried in a process of its own: this one's core may be broken.
bool passes_apart(const scenarios::Scenario& scenario) {
  const Task task = [&scenario](ChildReport&) {
    return storm_once(scenario).violations.empty() ? ExitCode::Met : ExitCode::Unmet;
  };
  return run_in_children({task}, 1, {[](const auto&, const auto&) {}}).front().code ==
         ExitCode::Met;
}

SeedOutcome run_seed(std::uint64_t seed, const std::vector<scenarios::PolicyChoice>& policies) {
  scenarios::Scenario plan = sim::plan_storm(seed, policies);
  SeedOutcome out = outcome_of(seed, storm_once(plan));
  if (out.findings.empty() || plan.settings.rules == kDecisionRules) return out;
  // What older rules decide wrong stays so, since their journals are folded: is it mended?
  const std::string rules = std::to_string(plan.settings.rules);
  plan.settings.rules = kDecisionRules;
  const bool passes = out.spoils_process ? passes_apart(plan) : storm_once(plan).violations.empty();
  out.findings.front().text += " (under rules " + rules + ", which no new journal has; under the " +
                               "present ones " +
                               (passes ? "nothing breaks)" : "it breaks as well)");
  return out;
}

/// A pinned seed: what breaks is a finding, and what is decided otherwise.
SeedOutcome run_pinned(std::uint64_t seed,
                       const sim::Pins& pins,
                       const std::vector<scenarios::PolicyChoice>& policies) {
  const sim::Pin& pin = *pins.find(seed);
  const auto plan = sim::plan_pinned(pins, pin, policies);
  const sim::StormReport storm = storm_once(*plan, true);
  SeedOutcome out = outcome_of(seed, storm);
  const std::string differs = sim::pin_difference(pin, storm.decisions);
  if (out.findings.empty() && !differs.empty())
    out.findings.push_back({seed,
                            std::string(to_string(sim::ViolationKind::DecisionChanged)),
                            Instant::zero() + storm.simulated,
                            differs});
  return out;
}

/// Tries a scenario in a process of its own.
std::optional<sim::Violation> try_apart(const scenarios::Scenario& scenario) {
  const Task task = [&scenario](ChildReport&) {
    (void)storm_once(scenario);
    return ExitCode::Met;
  };
  const TaskEnd end = run_in_children({task}, 1, {[](const auto&, const auto&) {}}).front();
  if (end.code == ExitCode::Met) return std::nullopt;
  return sim::Violation{sim::ViolationKind::ProcessEnded, Instant::zero(), end.note};
}

std::optional<sim::Violation> try_here(const scenarios::Scenario& scenario) {
  sim::StormReport storm = storm_once(scenario);
  if (storm.violations.empty()) return std::nullopt;
  return std::move(storm.violations.front());
}

/// The storm of a seed, as it is pinned where there are pins.
scenarios::Scenario plan_of(std::uint64_t seed,
                            const std::optional<sim::Pins>& pins,
                            const std::vector<scenarios::PolicyChoice>& policies) {
  return pins ? *sim::plan_pinned(*pins, *pins->find(seed), policies)
              : sim::plan_storm(seed, policies);
}

/// Makes one failing seed small; the answer is its YAML behind a line with the number of runs.
ExitCode shrink_seed(std::uint64_t seed,
                     const std::optional<sim::Pins>& pins,
                     bool apart,
                     ChildReport& report) {
  const scenarios::Scenario plan = plan_of(seed, pins, storm_policies());
  const sim::TryScenario attempt = apart ? try_apart : try_here;
  const auto found = attempt(plan);
  if (!found) return ExitCode::Met;
  const auto stop_at = SteadyClock::now() + kShrinkFor;
  sim::Shrunk shrunk =
      sim::shrink(plan, *found, attempt, [&] { return SteadyClock::now() < stop_at; });
  shrunk.scenario.description = "Storm of seed " + std::to_string(seed) + ": " +
                                std::string(to_string(shrunk.violation.kind)) + ": " +
                                shrunk.violation.text + ".";
  report.result(std::to_string(shrunk.runs) + "\n" + sim::to_yaml(shrunk.scenario));
  return ExitCode::InvariantBroken;
}

/// One of each kind; a decision that is another than pinned is none that breaks something.
std::vector<Minimal> shrink_findings(const std::vector<StormFinding>& findings,
                                     const std::optional<sim::Pins>& pins,
                                     const std::string& folder,
                                     std::size_t parallel,
                                     Console& console) {
  std::vector<std::uint64_t> seeds;
  std::vector<std::string_view> kinds;
  std::vector<Task> tasks;
  for (const StormFinding& finding : findings) {
    if (seeds.size() >= kShrunkAtMost) break;
    if (std::ranges::find(kinds, finding.kind) != kinds.end()) continue;
    if (finding.kind == to_string(sim::ViolationKind::DecisionChanged)) continue;
    kinds.emplace_back(finding.kind);
    seeds.push_back(finding.seed);
    tasks.push_back([seed = finding.seed, &pins, apart = finding.kind == kProcessEnded](
                        ChildReport& report) { return shrink_seed(seed, pins, apart, report); });
  }
  const std::vector<TaskEnd> ends = run_with_bar(tasks, parallel, 0, "shrink", console);
  std::vector<Minimal> out;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t line = ends[i].result.find('\n');
    if (line == std::string::npos) continue;
    Minimal minimal{seeds[i], folder + "/storm-" + std::to_string(seeds[i]) + ".yaml", 0, {}};
    minimal.runs = std::stoull(ends[i].result.substr(0, line));
    minimal.text = ends[i].result.substr(line + 1);
    if (const Status written = write_file(minimal.path, minimal.text); !written) {
      console.errors(written.errors());
      continue;
    }
    out.push_back(std::move(minimal));
  }
  return out;
}

double per_seed(std::uint64_t count, std::uint64_t seeds) {
  return seeds == 0 ? 0 : static_cast<double>(count) / static_cast<double>(seeds);
}

std::string json_of(const StormDone& done, const std::vector<Minimal>& minimal) {
  const StormFigures& figures = done.figures;
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("seeds", figures.seeds).field("simulated_s", figures.simulated_s());
  json.field("complete", done.complete).field("seeds_resumed", done.resumed);
  json.field("events", figures.events).field("records", figures.records);
  json.field("leaders", figures.leaders).field("processor_s", figures.processor_s);
  json.field(
      "events_per_second",
      figures.processor_s > 0 ? static_cast<double>(figures.events) / figures.processor_s : 0.0);
  json.key("marks").begin_object();
  for (std::size_t i = 0; i < figures.marks.size(); ++i)
    json.field(EnumNames<Mark>::kNames[i], figures.marks[i]);
  json.end_object().key("marks_per_seed").begin_object();
  for (std::size_t i = 0; i < figures.marks.size(); ++i)
    json.field(EnumNames<Mark>::kNames[i], per_seed(figures.marks[i], figures.seeds));
  json.end_object().key("seeds_that_reach").begin_object();
  for (std::size_t i = 0; i < figures.mark_seeds.size(); ++i)
    json.field(EnumNames<Mark>::kNames[i], figures.mark_seeds[i]);
  json.end_object().key("failures").begin_array();
  for (const StormFinding& finding : figures.findings) {
    json.begin_object().field("seed", finding.seed).field("kind", finding.kind);
    json.field("at_s", finding.at.in_seconds()).field("text", finding.text);
    for (const Minimal& m : minimal)
      if (m.seed == finding.seed) json.field("scenario", m.path);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string marks_table(const StormFigures& figures, std::size_t width) {
  Table table({{.title = "mark", .left = true},
               {.title = "reached"},
               {.title = "per seed"},
               {.title = "in seeds"}});
  for (std::size_t i = 0; i < figures.marks.size(); ++i) {
    const auto count = static_cast<double>(figures.marks[i]);
    const double each = per_seed(figures.marks[i], figures.seeds);
    const auto seeds = static_cast<double>(figures.mark_seeds[i]);
    table.add_row({{.text = EnumNames<Mark>::kNames[i]},
                   {with_commas(count, 0), count},
                   {with_commas(each, 4), each},
                   {with_commas(seeds, 0), seeds}});
  }
  return table.text(false, width);
}

std::string text_of(const StormDone& done, const std::vector<Minimal>& minimal, std::size_t width) {
  const StormFigures& figures = done.figures;
  const auto number = [](std::uint64_t n) { return with_commas(static_cast<double>(n), 0); };
  std::string out = number(figures.seeds) + " seeds, " + time_in_words(figures.simulated_s()) +
                    " simulated, " + number(figures.leaders) + " leaders\n";
  out += number(figures.events) + " core events, of them " + number(figures.records) +
         " records of controllers; ";
  if (figures.processor_s > 0)
    out += with_commas(static_cast<double>(figures.events) / figures.processor_s, 0) +
           " a second on one core\n";
  out += "\n" + marks_table(figures, width) + "\n";
  if (figures.findings.empty()) return out + "nothing broke\n";
  for (const StormFinding& finding : figures.findings)
    out += "seed " + std::to_string(finding.seed) + ": " + finding.kind + " at " +
           with_commas(finding.at.in_seconds(), 3) + " s: " + finding.text + "\n";
  for (const Minimal& m : minimal)
    out += "seed " + std::to_string(m.seed) + " made small in " + number(m.runs) +
           " runs; run it: orrery test " + m.path + "\n";
  return out;
}

void append_errors(Errors& errors, const Errors& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

/// What was asked for.
struct Wanted {
  SeedRange seeds{1, 1000};
  std::size_t parallel = processors();
  SteadyClock::time_point stop_at = SteadyClock::time_point::max();
  std::optional<sim::Pins> pins;
};

// The pinned storms of a file, all of which this program can play. `seeds`: those asked for, or
// null.
Result<sim::Pins> pins_of(const std::string& path, const SeedRange* seeds) {
  std::ifstream in(path, std::ios::binary);
  const std::optional<std::string> text = rest_of(in);
  if (!text)
    return Error{.subject = "--pins",
                 .message = path + " cannot be read; name the file of pinned storms"};
  auto pins = sim::read_pins(*text, path);
  if (!pins) return pins;
  if (const auto plan = sim::plan_pinned(*pins, pins->seeds.front(), storm_policies()); !plan)
    return plan.errors();
  if (seeds != nullptr &&
      (pins->find(seeds->first) == nullptr || pins->find(seeds->last) == nullptr))
    return Error{.subject = "--seeds",
                 .message = path + " pins seeds " + std::to_string(pins->seeds.front().seed) +
                            ".." + std::to_string(pins->seeds.back().seed) +
                            "; ask for some of these, or leave --seeds out"};
  return pins;
}

Result<Wanted> wanted_of(const Arguments& arguments) {
  Wanted wanted;
  Errors errors;
  if (const auto text = arguments.value("--seeds")) {
    const auto seeds = seed_range("--seeds", *text, kSeedsMax);
    if (seeds)
      wanted.seeds = *seeds;
    else
      append_errors(errors, seeds.errors());
  }
  if (const auto path = arguments.value("--pins")) {
    auto pins =
        pins_of(*path, arguments.has("--seeds") && errors.empty() ? &wanted.seeds : nullptr);
    if (!pins) {
      append_errors(errors, pins.errors());
    } else {
      if (!arguments.has("--seeds"))
        wanted.seeds = {pins->seeds.front().seed, pins->seeds.back().seed};
      wanted.pins = std::move(*pins);
    }
    if (arguments.has("--minutes"))
      errors.push_back({.subject = "--minutes",
                        .message = "stands beside --pins, whose file says which seeds; drop one"});
  }
  if (const auto text = arguments.value("--minutes")) {
    const auto minutes = whole_number("--minutes", *text, 1, 100'000);
    if (arguments.has("--seeds"))
      errors.push_back({.subject = "--minutes",
                        .message = "stands beside --seeds, one of them says how many; keep one"});
    if (minutes) {
      wanted.stop_at = SteadyClock::now() + std::chrono::minutes(*minutes);
      wanted.seeds = {1, 1'000'000 * *minutes};
    } else {
      append_errors(errors, minutes.errors());
    }
  }
  if (const auto text = arguments.value("--parallel")) {
    const auto parallel = whole_number("--parallel", *text, 1, 1024);
    if (parallel)
      wanted.parallel = *parallel;
    else
      append_errors(errors, parallel.errors());
  }
  if (!errors.empty()) return errors;
  return wanted;
}

// Makes the folder of progress and findings; whether it was not there. Errors: it cannot be made or
// written.
Result<bool> prepare_folder(const std::filesystem::path& folder,
                            const std::filesystem::path& probe) {
  std::error_code code;
  const bool made = std::filesystem::create_directories(folder, code);
  if (code)
    return Error{.subject = "--out",
                 .message = folder.string() + " cannot be made: " + code.message() +
                            "; name another folder"};
  if (const Status written = write_file(probe, ""); !written) return written.errors();
  std::filesystem::remove(probe, code);
  return made;
}

/// `goes_on`: the same command does.
void say_where_it_stopped(const StormDone& done,
                          const SeedRange& seeds,
                          bool goes_on,
                          Console& console) {
  const auto number = [](std::uint64_t n) { return with_commas(static_cast<double>(n), 0); };
  const std::string so_far = number(done.figures.seeds) + " of " + number(seeds.count());
  if (interrupted() && !goes_on)
    console.err("orrery: interrupted: these " + number(done.figures.seeds) + " seeds are done\n");
  else if (interrupted())
    console.err("orrery: interrupted: " + so_far +
                " seeds are done; the same command goes on there\n");
  else
    console.err("orrery: " + so_far + " seeds are done, no further one was begun: " +
                std::to_string(done.figures.findings.size()) + " findings are too many\n");
}

}  // namespace

ExitCode run_storm_verb(const Arguments& arguments, Console& console) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) {
    console.errors(wanted.errors());
    return ExitCode::BadInput;
  }
  const std::filesystem::path folder = arguments.value("--out").value_or("out/storm");
  const SeedRange seeds = wanted->seeds;
  const bool timed = wanted->stop_at != SteadyClock::time_point::max();
  StormWork work{.seeds = seeds, .parallel = wanted->parallel};
  const std::vector<scenarios::PolicyChoice> policies = storm_policies();
  work.run = [&](std::uint64_t seed) {
    return wanted->pins ? run_pinned(seed, *wanted->pins, policies) : run_seed(seed, policies);
  };
  // How far one comes within some time is not worth keeping, nor are some seconds.
  bool made_folder = false;
  if (!timed && !wanted->pins) {
    work.progress_file = folder / ("seeds-" + std::to_string(seeds.first) + "-" +
                                   std::to_string(seeds.last) + ".progress");
    const auto made = prepare_folder(folder, work.progress_file.string() + ".half");
    if (!made) {
      console.errors(made.errors());
      return ExitCode::BadInput;
    }
    made_folder = *made;
  }
  work.program = program_digest();
  work.go_on = [stop_at = wanted->stop_at] { return SteadyClock::now() < stop_at; };
  StormDone done;
  {
    ProgressBar bar(console, "storm");
    work.show = [&bar](const Progress& progress) { bar.show(progress); };
    done = run_storm_seeds(work);
  }
  if (done.resumed > 0)
    console.err("orrery: " + with_commas(static_cast<double>(done.resumed), 0) +
                " seeds are taken from an earlier storm that was interrupted\n");
  const bool goes_on = !work.progress_file.empty();
  const auto show = [&](const std::vector<Minimal>& minimal) {
    console.out(arguments.has("--json") ? json_of(done, minimal)
                                        : text_of(done, minimal, console.traits().table_width()));
  };
  if (!done.complete && (!timed || interrupted()))
    say_where_it_stopped(done, seeds, goes_on, console);
  if (interrupted()) {
    if (!goes_on) show({});  // Nobody could ask for it again.
    return ExitCode::Interrupted;
  }
  std::vector<Minimal> minimal;
  if (!done.figures.findings.empty() && !arguments.has("--no-shrink")) {
    if (const auto made = prepare_folder(folder, folder / ".probe"); !made)
      console.errors(made.errors());
    minimal = shrink_findings(
        done.figures.findings, wanted->pins, folder.string(), wanted->parallel, console);
  }
  if (interrupted()) return ExitCode::Interrupted;
  show(minimal);
  if (goes_on) {
    std::error_code code;
    std::filesystem::remove(work.progress_file, code);
    // Nothing is left in it where nothing broke; with other things, or made by others, it stays.
    if (made_folder || done.resumed > 0) std::filesystem::remove(folder, code);
  }
  return done.figures.findings.empty() ? ExitCode::Met : ExitCode::InvariantBroken;
}

}  // namespace orrery::cli
