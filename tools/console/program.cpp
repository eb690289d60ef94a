#include "tools/console/program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/console/arguments.hpp"
#include "tools/console/console.hpp"
#include "tools/console/help.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

/// A verb and how many words of the command line name it.
struct Found {
  const Verb* verb = nullptr;
  std::size_t words = 0;
};

Found find_verb(const Program& program, const std::vector<std::string>& words) {
  for (const Verb& verb : program.verbs) {
    const std::string_view name = verb.spec.name;
    if (name == words[0]) return {&verb, 1};
    if (words.size() > 1 && name == words[0] + " " + words[1]) return {&verb, 2};
  }
  return {};
}

/// What to say about words that name no verb.
std::string unknown_verb(const Program& program, const std::vector<std::string>& words) {
  const std::string self(program.name);
  std::string seconds;
  std::vector<std::string_view> firsts;
  for (const Verb& verb : program.verbs) {
    const std::string_view name = verb.spec.name;
    const std::size_t space = name.find(' ');
    firsts.push_back(name.substr(0, space));
    if (space != name.npos && name.substr(0, space) == words[0])
      seconds += (seconds.empty() ? "" : ", ") + std::string(name.substr(space + 1));
  }
  if (!seconds.empty()) {
    const std::string given = words.size() > 1 ? "\"" + words[1] + "\"" : "nothing";
    return self + " " + words[0] + ": " + given + " found, needed one of " + seconds + "; see " +
           self + " help " + words[0] + "\n";
  }
  const auto near = nearest(words[0], firsts);
  return self + ": " + words[0] + ": unknown verb; " +
         (near ? "did you mean " + std::string(*near) + "? " : "") + "The verbs are " +
         verb_names(program.verbs) + ".\n";
}

/// Becomes the program `name` beside this one; returns only where that fails.
ExitCode become_program_beside(const Program& program,
                               std::string_view name,
                               char** argv,
                               Console& console) {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  const std::string path = (self.parent_path() / name).string();
  release_interrupts();
  if (!code) ::execv(path.c_str(), argv);
  const std::string why = code ? code.message() : std::strerror(errno);
  console.err(std::string(program.name) + " " + argv[1] + ": " + path + " cannot be run: " + why +
              "; needed the program " + std::string(name) +
              ", which runs this verb, in the folder of " + std::string(program.name) +
              "; build or install both\n");
  return ExitCode::BadInput;
}

ExitCode run(const Program& program,
             std::vector<std::string> words,
             char** argv,
             Console& console) {
  if (words.empty()) {
    console.err(overview(program));
    return ExitCode::BadInput;
  }
  if (words[0] == "-h" || words[0] == "--help") words[0] = "help";
  if (words[0] == "--version") words[0] = "version";
  const Found found = find_verb(program, words);
  if (found.verb == nullptr) {
    console.err(unknown_verb(program, words));
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
  if (program.instead != nullptr)
    if (const std::string_view name = program.instead(found.verb->spec.name, *arguments);
        !name.empty())
      return become_program_beside(program, name, argv, console);
  if (found.verb->run != nullptr) return found.verb->run(*arguments, console);
  if (found.verb->run_about != nullptr) return found.verb->run_about(program, *arguments, console);
  return become_program_beside(program, program.beside, argv, console);
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  Console console = Console::of_this_process();
  catch_interrupts();
  try {
    return static_cast<int>(run(program, {argv + 1, argv + argc}, argv, console));
  } catch (const std::exception& error) {
    console.err(std::string(program.name) + ": stopped by the system: " + error.what() + "\n");
    return static_cast<int>(ExitCode::InvariantBroken);
  }
}

}  // namespace orrery::cli
