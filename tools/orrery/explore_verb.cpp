// explore: every interleaving of a small world within bounds.
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "core/base/json_text.hpp"
#include "policies/fifo.hpp"
#include "sim/explore/explorer.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A bound that is a number: its option, what it sets, and from where to where it goes.
struct NumberBound {
  std::string_view option;
  std::uint32_t sim::ExploreBounds::*value;
  std::uint32_t low;
  std::uint32_t high;
};

constexpr std::array kNumbers{
    NumberBound{"--nodes", &sim::ExploreBounds::nodes, 1, sim::kExploredNodesMax},
    NumberBound{"--leaders", &sim::ExploreBounds::leaders, 1, 9},
    NumberBound{"--jobs", &sim::ExploreBounds::jobs, 1, 3},
    NumberBound{"--workers", &sim::ExploreBounds::workers, 1, 3},
    NumberBound{"--seconds", &sim::ExploreBounds::seconds, 0, 60},
    NumberBound{"--losses", &sim::ExploreBounds::losses, 0, 9},
    NumberBound{"--crashes", &sim::ExploreBounds::crashes, 0, 9},
    NumberBound{"--exits", &sim::ExploreBounds::exits, 0, 9},
    NumberBound{"--stops", &sim::ExploreBounds::stops, 0, 9},
    NumberBound{"--late", &sim::ExploreBounds::late, 0, 9},
    NumberBound{"--resends", &sim::ExploreBounds::resends, 0, 9},
    NumberBound{"--depth", &sim::ExploreBounds::depth, 1, 1'000'000},
};

constexpr std::uint64_t kStatesMax = 1'000'000'000;

Result<std::uint64_t> number(const Arguments& arguments,
                             std::string_view option,
                             std::uint64_t low,
                             std::uint64_t high,
                             std::uint64_t otherwise) {
  const auto text = arguments.value(option);
  if (!text) return otherwise;
  return whole_number(option, *text, low, high);
}

Result<sim::ExploreBounds> bounds_of(const Arguments& arguments) {
  sim::ExploreBounds bounds;
  bounds.delays = 1;
  Errors errors;
  const auto take = [&](const Result<std::uint64_t>& value, auto& bound) {
    if (value)
      bound = static_cast<std::remove_reference_t<decltype(bound)>>(*value);
    else
      errors.insert(errors.end(), value.errors().begin(), value.errors().end());
  };
  for (const NumberBound& each : kNumbers)
    take(number(arguments, each.option, each.low, each.high, bounds.*each.value),
         bounds.*each.value);
  take(number(arguments, "--states", 1, kStatesMax, bounds.states), bounds.states);
  if (const auto delays = arguments.value("--delays"); delays == "any")
    bounds.delays.reset();
  else if (const auto held_up = number(arguments, "--delays", 0, 9, *bounds.delays); held_up)
    bounds.delays = static_cast<std::uint32_t>(*held_up);
  else
    errors.push_back(
        {.subject = "--delays", .message = held_up.errors().front().message + ", or any"});
  const std::string recovery(arguments.value("--recovery").value_or("worker"));
  bounds.recovery = recovery == "job"    ? RecoveryScope::Job
                    : recovery == "role" ? RecoveryScope::Role
                                         : RecoveryScope::Worker;
  if (!errors.empty()) return errors;
  return bounds;
}

std::string json_of(const sim::ExploreReport& report, double seconds) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("states", report.states).field("transitions", report.transitions);
  json.field("depth", report.depth).field("whole_depth", report.whole_depth);
  json.field("complete", report.complete).field("wall_s", seconds);
  json.key("failures").begin_array();
  if (report.counterexample) {
    const sim::Violation& violation = report.counterexample->violation;
    json.begin_object().field("kind", to_string(violation.kind)).field("text", violation.text);
    json.key("steps").begin_array();
    for (const std::string& step : report.counterexample->steps) json.value(step);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string text_of(const sim::ExploreReport& report, double seconds) {
  const auto count = [](std::uint64_t n) { return with_commas(static_cast<double>(n), 0); };
  std::string out = count(report.states) + " states, " + count(report.transitions) +
                    " steps between them, in " + with_commas(seconds, 1) + " s\n";
  if (report.counterexample) {
    const sim::Violation& violation = report.counterexample->violation;
    out += std::string(to_string(violation.kind)) + ": " + violation.text + ", after " +
           count(report.counterexample->steps.size()) + " steps:\n";
    for (const std::string& step : report.counterexample->steps) out += "  " + step + "\n";
    return out;
  }
  if (report.complete)
    out += "all that the bounds allow, up to " + count(report.depth) + " steps from the beginning";
  else
    out += "cut short: all of up to " + count(report.whole_depth) + " steps from the beginning";
  return out + "; nothing broke\n";
}

}  // namespace

ExitCode run_explore(const Arguments& arguments, Console& console) {
  const auto bounds = bounds_of(arguments);
  if (!bounds) {
    console.errors(bounds.errors());
    return ExitCode::BadInput;
  }
  const auto begun = SteadyClock::now();
  const auto seconds = [begun] {
    return std::chrono::duration<double>(SteadyClock::now() - begun).count();
  };
  double told = 0;
  sim::ExploreOptions options;
  options.go_on = [&](const sim::ExploreReport& report) {
    if (seconds() - told >= 10) {
      told = seconds();
      console.err("orrery: " + with_commas(static_cast<double>(report.states), 0) +
                  " states, up to " + std::to_string(report.depth) + " steps\n");
    }
    return !interrupted();
  };
  const auto policy = [] { return std::make_unique<policies::Fifo>(); };
  const sim::ExploreReport report = sim::explore(*bounds, policy, options);
  console.out(arguments.has("--json") ? json_of(report, seconds()) : text_of(report, seconds()));
  if (interrupted()) return ExitCode::Interrupted;
  return report.counterexample ? ExitCode::InvariantBroken : ExitCode::Met;
}

}  // namespace orrery::cli
