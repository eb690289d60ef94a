// storm: random faults under the checker; what fails is made small.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/coverage_mark.hpp"
#include "core/base/json_text.hpp"
#include "core/record/codec.hpp"
#include "policies/registry.hpp"
#include "sim/storm/scenario_yaml.hpp"
#include "sim/storm/shrink.hpp"
#include "sim/storm/storm_plan.hpp"
#include "sim/storm/storm_run.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/storm_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kSeedsAtOnce = 50;
constexpr std::size_t kFailuresOfATask = 3;
constexpr std::size_t kShrunkAtMost = 3;
constexpr std::chrono::seconds kShrinkFor{60};

/// A seed that failed.
struct Failure {
  std::uint64_t seed = 0;
  sim::ViolationKind kind = sim::ViolationKind::JournalBroken;
  Instant at;
  std::string text;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("seed", self.seed);
    v.field("kind", self.kind);
    v.field("at", self.at);
    v.field("text", self.text);
  }
};

/// What some seeds gave.
struct Figures {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;   ///< Inputs of controllers, agents and ears.
  std::uint64_t records = 0;  ///< Of those, stepped by controllers.
  std::uint64_t leaders = 0;
  double simulated_s = 0;
  double processor_s = 0;
  std::vector<std::uint64_t> marks;
  std::vector<Failure> failures;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("seeds", self.seeds);
    v.field("events", self.events);
    v.field("records", self.records);
    v.field("leaders", self.leaders);
    v.field("simulated_s", self.simulated_s);
    v.field("processor_s", self.processor_s);
    v.field("marks", self.marks);
    v.field("failures", self.failures);
  }

  void add(const Figures& other) {
    seeds += other.seeds;
    events += other.events;
    records += other.records;
    leaders += other.leaders;
    simulated_s += other.simulated_s;
    processor_s += other.processor_s;
    marks.resize(kMarks);
    for (std::size_t i = 0; i < std::min(marks.size(), other.marks.size()); ++i)
      marks[i] += other.marks[i];
    failures.insert(failures.end(), other.failures.begin(), other.failures.end());
  }
};

/// A failing seed made small, and where it was written.
struct Minimal {
  std::uint64_t seed = 0;
  std::string path;
  std::uint64_t runs = 0;
  std::string text;
};

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

ExitCode run_seeds(SeedRange seeds, SteadyClock::time_point stop_at, ChildReport& report) {
  const std::vector<scenarios::PolicyChoice> policies = storm_policies();
  Figures figures;
  const double start = processor_seconds();
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    if (SteadyClock::now() >= stop_at || figures.failures.size() >= kFailuresOfATask) break;
    const sim::StormReport storm = storm_once(sim::plan_storm(seed, policies));
    ++figures.seeds;
    figures.events += storm.events;
    figures.records += storm.records;
    figures.leaders += storm.leaders;
    figures.simulated_s += storm.simulated.in_seconds();
    for (const sim::Violation& v : storm.violations) {
      figures.failures.push_back({seed, v.kind, v.at, v.text});
      break;
    }
    report.progress({.events = figures.events, .simulated_s = figures.simulated_s});
  }
  figures.processor_s = processor_seconds() - start;
  figures.marks.assign(mark_counts.begin(), mark_counts.end());
  ByteWriter bytes;
  Encoder encoder(bytes);
  encoder.put(figures);
  report.result(bytes.text());
  return figures.failures.empty() ? ExitCode::Met : ExitCode::InvariantBroken;
}

/// Makes one failing seed small; the answer is its YAML behind a line with the number of runs.
ExitCode shrink_seed(std::uint64_t seed, ChildReport& report) {
  const scenarios::Scenario plan = sim::plan_storm(seed, storm_policies());
  const sim::TryScenario attempt =
      [](const scenarios::Scenario& scenario) -> std::optional<sim::Violation> {
    sim::StormReport storm = storm_once(scenario);
    if (storm.violations.empty()) return std::nullopt;
    return std::move(storm.violations.front());
  };
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

std::vector<Minimal> shrink_failures(const std::vector<Failure>& failures,
                                     const std::string& folder,
                                     std::size_t parallel,
                                     Console& console) {
  std::vector<std::uint64_t> seeds;
  std::vector<sim::ViolationKind> kinds;
  for (const Failure& failure : failures) {
    if (seeds.size() >= kShrunkAtMost) break;
    if (std::ranges::find(kinds, failure.kind) != kinds.end()) continue;
    kinds.push_back(failure.kind);
    seeds.push_back(failure.seed);
  }
  std::vector<Task> tasks;
  for (const std::uint64_t seed : seeds)
    tasks.push_back([seed](ChildReport& report) { return shrink_seed(seed, report); });
  const std::vector<TaskEnd> ends = run_with_bar(tasks, parallel, 0, "shrink", console);
  std::vector<Minimal> out;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t line = ends[i].result.find('\n');
    if (line == std::string::npos) continue;
    Minimal minimal{seeds[i], folder + "/storm-" + std::to_string(seeds[i]) + ".yaml", 0, {}};
    minimal.runs = std::stoull(ends[i].result.substr(0, line));
    minimal.text = ends[i].result.substr(line + 1);
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (const Status written = write_file(minimal.path, minimal.text); !written) {
      console.errors(written.errors());
      continue;
    }
    out.push_back(std::move(minimal));
  }
  return out;
}

std::string json_of(const Figures& figures, const std::vector<Minimal>& minimal) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("seeds", figures.seeds).field("simulated_s", figures.simulated_s);
  json.field("events", figures.events).field("records", figures.records);
  json.field("leaders", figures.leaders).field("processor_s", figures.processor_s);
  json.field(
      "events_per_second",
      figures.processor_s > 0 ? static_cast<double>(figures.events) / figures.processor_s : 0.0);
  json.key("marks").begin_object();
  for (std::size_t i = 0; i < figures.marks.size(); ++i)
    json.field(EnumNames<Mark>::kNames[i], figures.marks[i]);
  json.end_object().key("failures").begin_array();
  for (const Failure& failure : figures.failures) {
    json.begin_object().field("seed", failure.seed).field("kind", to_string(failure.kind));
    json.field("at_s", failure.at.in_seconds()).field("text", failure.text);
    for (const Minimal& m : minimal)
      if (m.seed == failure.seed) json.field("scenario", m.path);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string marks_table(const Figures& figures, std::size_t width) {
  Table table({{.title = "mark", .left = true}, {.title = "reached"}});
  for (std::size_t i = 0; i < figures.marks.size(); ++i) {
    const auto count = static_cast<double>(figures.marks[i]);
    table.add_row({{.text = EnumNames<Mark>::kNames[i]}, {with_commas(count, 0), count}});
  }
  return table.text(false, width);
}

std::string text_of(const Figures& figures,
                    const std::vector<Minimal>& minimal,
                    std::size_t width) {
  const auto number = [](std::uint64_t n) { return with_commas(static_cast<double>(n), 0); };
  std::string out = number(figures.seeds) + " seeds, " + time_in_words(figures.simulated_s) +
                    " simulated, " + number(figures.leaders) + " leaders\n";
  out += number(figures.events) + " core events, of them " + number(figures.records) +
         " records of controllers; ";
  if (figures.processor_s > 0)
    out += with_commas(static_cast<double>(figures.events) / figures.processor_s, 0) +
           " a second on one core\n";
  out += "\n" + marks_table(figures, width) + "\n";
  if (figures.failures.empty()) return out + "nothing broke\n";
  for (const Failure& failure : figures.failures)
    out += "seed " + std::to_string(failure.seed) + ": " + std::string(to_string(failure.kind)) +
           " at " + with_commas(failure.at.in_seconds(), 3) + " s: " + failure.text + "\n";
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
};

Result<Wanted> wanted_of(const Arguments& arguments) {
  Wanted wanted;
  Errors errors;
  if (const auto text = arguments.value("--seeds")) {
    const auto seeds = seed_range("--seeds", *text);
    if (seeds)
      wanted.seeds = *seeds;
    else
      append_errors(errors, seeds.errors());
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

Figures figures_of(const std::vector<TaskEnd>& ends, const std::vector<SeedRange>& ranges) {
  Figures sum;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ByteReader bytes(std::as_bytes(std::span(ends[i].result)));
    Decoder decoder(bytes);
    Figures figures;
    decoder.get(figures);
    if (decoder.ok() && !ends[i].result.empty()) {
      sum.add(figures);
    } else if (ends[i].code != ExitCode::Interrupted) {
      sum.failures.push_back({ranges[i].first,
                              sim::ViolationKind::Invariant,
                              Instant::zero(),
                              "the process of seeds " + std::to_string(ranges[i].first) + " to " +
                                  std::to_string(ranges[i].last) + " ended: " + ends[i].note});
    }
  }
  return sum;
}

}  // namespace

ExitCode run_storm_verb(const Arguments& arguments, Console& console) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) {
    console.errors(wanted.errors());
    return ExitCode::BadInput;
  }
  std::vector<SeedRange> ranges;
  std::vector<Task> tasks;
  for (std::uint64_t first = wanted->seeds.first; first <= wanted->seeds.last;
       first += kSeedsAtOnce) {
    const SeedRange range{first, std::min(first + kSeedsAtOnce - 1, wanted->seeds.last)};
    ranges.push_back(range);
    tasks.push_back([range, stop_at = wanted->stop_at](ChildReport& report) {
      return run_seeds(range, stop_at, report);
    });
  }
  const auto ends = run_with_bar(tasks, wanted->parallel, 0, "storm", console);
  if (interrupted()) return ExitCode::Interrupted;
  const Figures figures = figures_of(ends, ranges);
  std::vector<Minimal> minimal;
  if (!figures.failures.empty() && !arguments.has("--no-shrink"))
    minimal = shrink_failures(figures.failures,
                              arguments.value("--out").value_or("out/storm"),
                              wanted->parallel,
                              console);
  console.out(arguments.has("--json") ? json_of(figures, minimal)
                                      : text_of(figures, minimal, console.traits().table_width()));
  return figures.failures.empty() ? ExitCode::Met : ExitCode::InvariantBroken;
}

}  // namespace orrery::cli
