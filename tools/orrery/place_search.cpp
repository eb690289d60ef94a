// place --search: tries placements of a job's loop by simulation and shows the best.
#include <string>

#include "scenarios/language/loader.hpp"
#include "sim/search/search.hpp"
#include "tools/console/input_file.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/documents/rlinf_documents.hpp"
#include "tools/orrery/place_json.hpp"
#include "tools/orrery/place_search_text.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

struct SearchWords {
  sim::SearchOptions options;
  std::size_t top = 5;
};

Result<SearchWords> words_of_search(const Arguments& arguments) {
  SearchWords words;
  Errors errors;
  const auto read = [&](std::string_view option, auto& to, std::uint64_t high) {
    const auto text = arguments.value(option);
    if (!text) return;
    const auto number = whole_number(option, *text, 1, high);
    if (number)
      to = static_cast<std::remove_reference_t<decltype(to)>>(*number);
    else
      errors.insert(errors.end(), number.errors().begin(), number.errors().end());
  };
  read("--turns", words.options.turns, 10'000);
  read("--candidates", words.options.candidates, 10'000'000);
  read("--top", words.top, 1'000'000);
  for (const char* option : {"--nodes",
                             "--config-dir",
                             "--mode",
                             "--program",
                             "--explicit",
                             "--env",
                             "--as",
                             "--command",
                             "--family"})
    if (arguments.has(option))
      errors.push_back({.subject = option,
                        .message =
                            "found beside --search, which reads a scenario and shows what it "
                            "finds; remove one of them"});
  if (arguments.operands().size() > 1)
    errors.push_back({.subject = arguments.operands()[1],
                      .message = "found a second operand, one scenario is needed; folders of files "
                                 "of defaults are named with --config-dir"});
  if (!errors.empty()) return errors;
  return words;
}

Result<scenarios::Scenario> scenario_of(const std::string& path) {
  const auto text = read_input_or_stdin(path);
  if (!text) return text.errors();
  const std::string file = path == "-" ? "standard input" : path;
  if (is_rlinf_text(*text))
    return Error{.file = file,
                 .message =
                     "no stage times are stated: found a document of RLinf, a scenario whose "
                     "job has work.loop is needed; write one with the document's roles"};
  return scenarios::parse_scenario(*text, file);
}

}  // namespace

ExitCode run_place_search(const Arguments& arguments, Console& console) {
  const bool as_json = arguments.has("--json");
  const auto refuse = [&](const Errors& errors) {
    if (as_json)
      console.out(placement_errors_json(errors));
    else
      console.errors(errors);
    return ExitCode::BadInput;
  };
  const Result<SearchWords> words = words_of_search(arguments);
  if (!words) return refuse(words.errors());
  const Result<scenarios::Scenario> scenario = scenario_of(arguments.operands().front());
  if (!scenario) return refuse(scenario.errors());
  const auto job = sim::searched_job(*scenario, arguments.value("--job").value_or(""));
  if (!job) return refuse(job.errors());
  sim::SearchOptions options = words->options;
  options.stop = [] { return interrupted(); };
  const auto result = sim::search_placement(*job, options);
  if (!result) {
    const ExitCode refused = refuse(result.errors());
    return interrupted() ? ExitCode::Interrupted : refused;
  }
  console.out(as_json ? search_json(*job, *result, words->top)
                      : search_page(*job, *result, words->top, console.traits()));
  if (!result->stopped) return ExitCode::Met;
  console.err("interrupted: this is the best of " + std::to_string(result->tried) +
              " candidates, and more were to be tried\n");
  return ExitCode::Interrupted;
}

}  // namespace orrery::cli
