#include "tools/console/completion.hpp"

#include <algorithm>
#include <vector>

namespace orrery::cli {
namespace {

/// A first word of the command line with the second words that may follow it; none where the first
/// word is a verb by itself.
struct FirstWord {
  std::string word;
  std::string summary;
  std::vector<const VerbSpec*> verbs;  ///< One, or one per second word.

  bool is_group() const { return verbs.front()->name.size() > word.size(); }
};

std::string second_word(const VerbSpec& verb) {
  return std::string(verb.name.substr(verb.name.find(' ') + 1));
}

std::vector<FirstWord> first_words(std::span<const Verb> verbs) {
  std::vector<FirstWord> out;
  for (const Verb& verb : verbs) {
    const std::string word(verb.spec.name.substr(0, verb.spec.name.find(' ')));
    auto known = std::ranges::find(out, word, &FirstWord::word);
    if (known == out.end()) {
      out.push_back({word, std::string(verb.spec.summary), {}});
      known = out.end() - 1;
    }
    known->verbs.push_back(&verb.spec);
    if (known->is_group()) {
      known->summary.clear();
      for (const VerbSpec* each : known->verbs)
        known->summary += (known->summary.empty() ? "" : ", ") + second_word(*each);
    }
  }
  return out;
}

template <class Words>
std::string joined(const Words& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + std::string(word);
  return out;
}

/// `text` inside single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string options_of(const VerbSpec& verb) {
  std::string out;
  for (const OptionSpec& option : verb.options)
    if (!option.unlisted) out += std::string(option.name) + " ";
  return out + "--help";
}

/// The name of the shell function: "_orrery".
std::string function_of(const Program& program) {
  std::string out = "_" + std::string(program.name);
  std::ranges::replace(out, '-', '_');
  return out;
}

/// The command that lists the names of jobs, or of nodes: completion asks the controller, and
/// offers nothing where none answers at once.
std::string names_command(std::string_view program, OperandKind kind) {
  return std::string(program) + " get " + (kind == OperandKind::Node ? "nodes " : "") +
         "--names 2>/dev/null";
}

/// The lines of bash that complete the value of an option and then what else may follow.
std::string bash_body(std::string_view program, const VerbSpec& verb) {
  std::string out;
  for (const OptionSpec& option : verb.options) {
    if (option.choices.empty() || option.unlisted) continue;
    out += "      [[ $previous == " + std::string(option.name) +
           " ]] && COMPREPLY=($(compgen -W '" + joined(option.choices) +
           "' -- \"$word\")) && return\n";
  }
  std::string rest = verb.operands_max == 0 ? "" : "-f ";
  if (!verb.operand_choices.empty()) {
    rest = "-W '" + joined(verb.operand_choices) + "' ";
  } else if (verb.operand_kind != OperandKind::File) {
    rest = "-W \"$(" + names_command(program, verb.operand_kind) + ")\" ";
  }
  out += "      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '" + options_of(verb) +
         "' -- \"$word\"))\n      else COMPREPLY=(" +
         (rest.empty() ? "" : "$(compgen " + rest + "-- \"$word\")") + "); fi\n";
  return out;
}

/// A value of zsh's _arguments or _values: brackets and colons mean something there.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_arguments(std::string_view program, const VerbSpec& verb) {
  std::string out = "_arguments";
  for (const OptionSpec& option : verb.options) {
    if (option.unlisted) continue;
    std::string spec = option.repeatable ? "*" : "";
    spec += std::string(option.name) + "[" + zsh_text(option.help) + "]";
    if (!option.value.empty()) {
      spec += ":" + zsh_text(option.value) + ":";
      if (!option.choices.empty()) spec += "(" + joined(option.choices) + ")";
      if (option.takes_path) spec += "_files";
    }
    out += " " + shell_quoted(spec);
  }
  if (!verb.operand_choices.empty()) {
    out += " " + shell_quoted("*:choice:(" + joined(verb.operand_choices) + ")");
  } else if (verb.operand_kind != OperandKind::File) {
    out += " " + shell_quoted("*:name:($(" + names_command(program, verb.operand_kind) + "))");
  } else if (verb.operands_max != 0) {
    out += " " + shell_quoted("*:file:_files");
  }
  return out;
}

std::string fish_options(std::string_view program,
                         const VerbSpec& verb,
                         const std::string& condition) {
  const std::string begin = "complete -c " + std::string(program) + " -n ";
  std::string out;
  for (const OptionSpec& option : verb.options) {
    if (option.unlisted) continue;
    out += begin + shell_quoted(condition) + " -l " + std::string(option.name.substr(2)) +
           (option.value.empty() ? "" : " -r");
    if (!option.letter.empty()) out += " -s " + std::string(option.letter.substr(1));
    if (!option.choices.empty()) out += " -f -a " + shell_quoted(joined(option.choices));
    if (option.takes_path) out += " -F";
    out += " -d " + shell_quoted(option.help) + "\n";
  }
  if (!verb.operand_choices.empty())
    out += begin + shell_quoted(condition) + " -f -a " +
           shell_quoted(joined(verb.operand_choices)) + "\n";
  if (verb.operand_choices.empty() && verb.operand_kind != OperandKind::File)
    out += begin + shell_quoted(condition) + " -f -a " +
           shell_quoted("(" + names_command(program, verb.operand_kind) + ")") + "\n";
  return out;
}

}  // namespace

std::string bash_completion(const Program& program) {
  const std::vector<FirstWord> words = first_words(program.verbs);
  const std::string name(program.name);
  std::string out = "# bash completion for " + name + "; load it with: source <(" + name +
                    " completion bash)\n" + function_of(program) +
                    "() {\n"
                    "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '";
  for (const FirstWord& first : words) out += first.word + " ";
  out += "' -- \"$word\"))\n    return\n  fi\n  local verb=${COMP_WORDS[1]}\n  case $verb in\n";
  for (const FirstWord& first : words)
    if (first.is_group()) {
      out += "    " + first.word +
             ")\n      if ((COMP_CWORD == 2)); then\n        COMPREPLY=($(compgen -W '";
      for (const VerbSpec* verb : first.verbs) out += second_word(*verb) + " ";
      out += "' -- \"$word\"))\n        return\n      fi\n      verb+=\" ${COMP_WORDS[2]}\" ;;\n";
    }
  out += "  esac\n  case $verb in\n";
  for (const Verb& verb : program.verbs)
    out +=
        "    " + shell_quoted(verb.spec.name) + ")\n" + bash_body(name, verb.spec) + "      ;;\n";
  return out + "  esac\n}\ncomplete -o filenames -F " + function_of(program) + " " + name + "\n";
}

std::string zsh_completion(const Program& program) {
  const std::vector<FirstWord> words = first_words(program.verbs);
  const std::string name(program.name);
  std::string out = "#compdef " + name + "\n# zsh completion for " + name +
                    "; load it with: source <(" + name + " completion zsh)\n" +
                    function_of(program) + "() {\n  local -a first second\n  first=(";
  for (const FirstWord& first : words)
    out += "\n    " + shell_quoted(first.word + ":" + zsh_text(first.summary));
  out +=
      "\n  )\n  if ((CURRENT == 2)); then\n    _describe verb first\n    return\n  fi\n"
      "  local verb=$words[2]\n  case $verb in\n";
  for (const FirstWord& first : words)
    if (first.is_group()) {
      out += "    " + first.word + ")\n      if ((CURRENT == 3)); then\n        second=(";
      for (const VerbSpec* verb : first.verbs)
        out += " " + shell_quoted(second_word(*verb) + ":" + zsh_text(verb->summary));
      out +=
          " )\n        _describe verb second\n        return\n      fi\n"
          "      verb+=\" $words[3]\"\n      shift words\n      ((CURRENT--)) ;;\n";
    }
  out += "  esac\n  shift words\n  ((CURRENT--))\n  case $verb in\n";
  for (const Verb& verb : program.verbs)
    out += "    " + shell_quoted(verb.spec.name) + ") " + zsh_arguments(name, verb.spec) + " ;;\n";
  // Installed in a folder of completions the script is itself the function at its first call.
  const std::string function = function_of(program);
  return out + "  esac\n}\nif [ \"$funcstack[1]\" = " + function + " ]; then\n  " + function +
         " \"$@\"\nelse\n  compdef " + function + " " + name + "\nfi\n";
}

std::string fish_completion(const Program& program) {
  const std::string name(program.name);
  const std::string begin = "complete -c " + name;
  std::string out = "# fish completion for " + name + "; load it with: " + name +
                    " completion fish | source\n" + begin + " -f\n";
  for (const FirstWord& first : first_words(program.verbs)) {
    out += begin + " -n __fish_use_subcommand -a " + first.word + " -d " +
           shell_quoted(first.summary) + "\n";
    const std::string seen = "__fish_seen_subcommand_from " + first.word;
    if (!first.is_group()) {
      const VerbSpec& verb = *first.verbs.front();
      if (verb.operands_max != 0 && verb.operand_choices.empty() &&
          verb.operand_kind == OperandKind::File)
        out += begin + " -n " + shell_quoted(seen) + " -F\n";
      out += fish_options(name, verb, seen);
      continue;
    }
    std::string seconds;
    for (const VerbSpec* verb : first.verbs) seconds += " " + second_word(*verb);
    for (const VerbSpec* verb : first.verbs) {
      const std::string word = second_word(*verb);
      out += begin + " -n " +
             shell_quoted(seen + "; and not __fish_seen_subcommand_from" + seconds) + " -a " +
             word + " -d " + shell_quoted(verb->summary) + "\n";
      const std::string both = seen + "; and __fish_seen_subcommand_from " + word;
      out += begin + " -n " + shell_quoted(both) + " -F\n" + fish_options(name, *verb, both);
    }
  }
  return out;
}

}  // namespace orrery::cli
