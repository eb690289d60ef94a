// The orrery program: finds the verb, parses its words, runs it.
#include <exception>
#include <string>
#include <vector>

#include "tools/orrery/arguments.hpp"
#include "tools/orrery/console.hpp"
#include "tools/orrery/help.hpp"
#include "tools/orrery/interrupt.hpp"
#include "tools/orrery/verb.hpp"

namespace orrery::cli {
namespace {

/// A verb and how many words of the command line name it.
struct Found {
  const Verb* verb = nullptr;
  std::size_t words = 0;
};

Found find_verb(const std::vector<std::string>& words) {
  for (const Verb& verb : verbs()) {
    const std::string_view name = verb.spec.name;
    if (name == words[0]) return {&verb, 1};
    if (words.size() > 1 && name == words[0] + " " + words[1]) return {&verb, 2};
  }
  return {};
}

/// What to say about words that name no verb.
std::string unknown_verb(const std::vector<std::string>& words) {
  std::string seconds;
  std::vector<std::string_view> firsts;
  for (const Verb& verb : verbs()) {
    const std::string_view name = verb.spec.name;
    const std::size_t space = name.find(' ');
    firsts.push_back(name.substr(0, space));
    if (space != name.npos && name.substr(0, space) == words[0])
      seconds += (seconds.empty() ? "" : ", ") + std::string(name.substr(space + 1));
  }
  if (!seconds.empty()) {
    const std::string given = words.size() > 1 ? "\"" + words[1] + "\"" : "nothing";
    return "orrery " + words[0] + ": " + given + " found, needed one of " + seconds +
           "; see orrery help " + words[0] + "\n";
  }
  const auto near = nearest(words[0], firsts);
  return "orrery: " + words[0] + ": unknown verb; " +
         (near ? "did you mean " + std::string(*near) + "? " : "") + "The verbs are " +
         verb_names(verbs()) + ".\n";
}

ExitCode run(std::vector<std::string> words, Console& console) {
  if (words.empty()) {
    console.err(overview(verbs()));
    return ExitCode::BadInput;
  }
  if (words[0] == "-h" || words[0] == "--help") words[0] = "help";
  if (words[0] == "--version") words[0] = "version";
  const Found found = find_verb(words);
  if (found.verb == nullptr) {
    console.err(unknown_verb(words));
    return ExitCode::BadInput;
  }
  const auto rest = std::span(words).subspan(found.words);
  const auto arguments = parse_arguments(found.verb->spec, rest);
  if (!arguments) {
    console.errors(arguments.errors());
    return ExitCode::BadInput;
  }
  if (arguments->wants_help()) {
    console.out(verb_help(found.verb->spec));
    return ExitCode::Met;
  }
  return found.verb->run(*arguments, console);
}

}  // namespace
}  // namespace orrery::cli

int main(int argc, char** argv) {
  using orrery::cli::Console;
  Console console = Console::of_this_process();
  orrery::cli::catch_interrupts();
  try {
    const auto code = orrery::cli::run({argv + 1, argv + argc}, console);
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    console.err("orrery: stopped by the system: " + std::string(error.what()) + "\n");
    return static_cast<int>(orrery::cli::ExitCode::InvariantBroken);
  }
}
