#include "tools/console/help.hpp"

#include <algorithm>

namespace orrery::cli {
namespace {

std::string usage_of(const OptionSpec& option) {
  std::string out(option.name);
  if (!option.letter.empty()) out = std::string(option.letter) + ", " + out;
  if (!option.value.empty()) out += " " + std::string(option.value);
  return out;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

/// `[--seed N] [--set path=value ...]`, broken into lines of at most 90 columns.
std::string usage_line(const VerbSpec& verb) {
  std::string out = "usage: orrery " + std::string(verb.name);
  const std::string operands = verb.operands.empty() ? "" : " " + std::string(verb.operands);
  if (!verb.runs_command) out += operands;
  std::size_t line_start = 0;
  for (const OptionSpec& option : verb.options) {
    if (option.unlisted) continue;
    const std::string part = "[" + usage_of(option) + (option.repeatable ? " ...]" : "]");
    if (out.size() - line_start + part.size() > 90) {
      out += "\n        ";
      line_start = out.size() - 8;
    }
    out += " " + part;
  }
  return out + (verb.runs_command ? operands : "") + "\n";
}

}  // namespace

std::string verb_names(std::span<const Verb> verbs) {
  std::string out;
  for (const Verb& verb : verbs) out += (out.empty() ? "" : ", ") + std::string(verb.spec.name);
  return out;
}

std::string overview(const Program& program) {
  const std::span<const Verb> verbs = program.verbs;
  const std::string name(program.name);
  std::string out = name + ": " + std::string(program.summary) + "\n\nusage: " + name +
                    " VERB [operands] [options]\n\n";
  std::size_t width = 0;
  for (const Verb& verb : verbs) width = std::max(width, verb.spec.name.size());
  for (const Verb& verb : verbs)
    out += "  " + padded(std::string(verb.spec.name), width + 2) + std::string(verb.spec.summary) +
           "\n";
  out +=
      "\nexit codes: 0 met, 1 an expectation unmet, 2 bad input, 3 an invariant broken (a bug of "
      "Orrery),\n            4 no progress, 5 no controller answers, 130 interrupted\n\n";
  out += "'" + name + " help VERB' shows options and examples. Start with:\n" +
         std::string(program.start_with);
  return out;
}

std::string verb_help(const VerbSpec& verb) {
  std::string out = usage_line(verb) + "\n" + std::string(verb.summary) + "\n";
  if (!verb.details.empty()) out += "\n" + std::string(verb.details) + "\n";
  if (!verb.options.empty()) {
    out += "\noptions:\n";
    std::size_t width = 0;
    for (const OptionSpec& option : verb.options)
      if (!option.unlisted) width = std::max(width, usage_of(option).size());
    for (const OptionSpec& option : verb.options)
      if (!option.unlisted)
        out += "  " + padded(usage_of(option), width + 2) + std::string(option.help) + "\n";
  }
  out += verb.examples.size() == 1 ? "\nexample:\n" : "\nexamples:\n";
  for (const Example& example : verb.examples)
    out += "  # " + std::string(example.what) + "\n  " + std::string(example.command) + "\n";
  return out;
}

}  // namespace orrery::cli
