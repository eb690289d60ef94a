#include "tools/console/about_verbs.hpp"

#include <algorithm>
#include <string>

#include "tools/console/arguments.hpp"
#include "tools/console/completion.hpp"
#include "tools/console/console.hpp"
#include "tools/console/help.hpp"

namespace orrery::cli {
namespace {

ExitCode run_version(const Program& program, const Arguments& arguments, Console& console) {
  const std::string name(program.name);
  const std::string number(program.version.number);
  const std::string revision(program.version.revision);
  const bool modified = program.version.modified;
  if (arguments.has("--json")) {
    console.out("{\"program\": \"" + name + "\", \"version\": \"" + number +
                "\", \"revision\": \"" + revision +
                "\", \"modified\": " + (modified ? "true" : "false") + "}\n");
  } else {
    console.out(name + " " + number + " (revision " + revision + (modified ? ", modified" : "") +
                ")\n");
  }
  return ExitCode::Met;
}

ExitCode run_completion(const Program& program, const Arguments& arguments, Console& console) {
  const std::string& shell = arguments.operands().front();
  if (shell == "bash") {
    console.out(bash_completion(program));
  } else if (shell == "zsh") {
    console.out(zsh_completion(program));
  } else if (shell == "fish") {
    console.out(fish_completion(program));
  } else {
    console.err("orrery completion: \"" + shell +
                "\" found, needed one of bash, zsh, fish; name one of them\n");
    return ExitCode::BadInput;
  }
  return ExitCode::Met;
}

ExitCode run_help(const Program& program, const Arguments& arguments, Console& console) {
  std::string wanted;
  for (const std::string& word : arguments.operands()) wanted += (wanted.empty() ? "" : " ") + word;
  if (wanted.empty()) {
    console.out(overview(program));
    return ExitCode::Met;
  }
  bool found = false;
  for (const Verb& verb : program.verbs) {
    const std::string_view name = verb.spec.name;
    // "help trace" shows everything that begins with that word.
    if (name != wanted && !(name.starts_with(wanted) && name[wanted.size()] == ' ')) continue;
    console.out((found ? "\n" : "") + verb_help(verb.spec));
    found = true;
  }
  if (found) return ExitCode::Met;
  console.err(std::string(program.name) + " help: " + wanted + ": unknown verb; the verbs are " +
              verb_names(program.verbs) + "\n");
  return ExitCode::BadInput;
}

}  // namespace

Verb version_verb() {
  return {.spec = {.name = "version",
                   .operands = "",
                   .summary = "print the version, and the revision of git it was built from",
                   .details =
                       "The revision is \"unknown\" where the program was built outside git, and\n"
                       "followed by \"modified\" where files differed from that commit.",
                   .options = {{"--json", "", "one JSON document on standard output"}},
                   .examples = {{"orrery version", "what is installed"},
                                {"orrery version --json",
                                 "an object with program, version, revision and modified"}}},
          .run_about = run_version};
}

Verb completion_verb() {
  return {.spec = {.name = "completion",
                   .operands = "SHELL",
                   .operands_min = 1,
                   .operands_max = 1,
                   .summary = "print a completion script for bash, zsh or fish",
                   .details = "",
                   .options = {},
                   .examples = {{"source <(orrery completion bash)", "complete in this shell"},
                                {"orrery completion fish | source", "the same in fish"}},
                   .operand_choices = {"bash", "zsh", "fish"}},
          .run_about = run_completion};
}

Verb help_verb() {
  return {.spec = {.name = "help",
                   .operands = "[VERB]",
                   .operands_max = 2,
                   .summary = "show all verbs, or one with its options and examples",
                   .details = "",
                   .options = {},
                   .examples = {{"orrery help compare", "options and examples of one verb"}}},
          .run_about = run_help};
}

}  // namespace orrery::cli
