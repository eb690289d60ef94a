// A verb of the program as data: what parses it, helps with it, completes it and runs it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tools/console/version.hpp"

namespace orrery::cli {

class Arguments;
class Console;
struct Program;

/// How the program ends. Stable: scripts depend on the numbers.
enum class ExitCode : int {
  Met = 0,              ///< Done, and every expectation met.
  Unmet = 1,            ///< An expectation unmet, a request refused, a job failed under --wait.
  BadInput = 2,         ///< Nothing was started.
  InvariantBroken = 3,  ///< A bug of Orrery.
  NoProgress = 4,       ///< Jobs are left and nothing will ever happen.
  Unreachable = 5,      ///< No controller answers.
  Interrupted = 130,    ///< Ctrl-C.
};

/// One option of a verb.
struct OptionSpec {
  std::string_view name;    ///< With its dashes: "--seed".
  std::string_view value;   ///< What stands for the value in help: "N". Empty: a flag.
  std::string_view help;    ///< One line.
  bool repeatable = false;  ///< May be given more than once.
  bool takes_path = false;  ///< Completion offers files.
  std::vector<std::string_view> choices = {};  ///< The only values, where there are few.
  std::string_view letter = {};                ///< "-f": means the same; may be empty.
  bool unlisted = false;                       ///< Accepted, and not shown in help and completion.
};

/// What completion offers for operands that are no fixed words.
enum class OperandKind { File, Job, Node };

/// One command that a reader can copy, and what it does.
struct Example {
  std::string_view command;
  std::string_view what;
};

/// One verb, of one or two words ("trace info").
struct VerbSpec {
  std::string_view name;
  std::string_view operands;  ///< As help shows them: "SCENARIO", "PATH...".
  int operands_min = 0;
  int operands_max = 0;      ///< -1: any number.
  std::string_view summary;  ///< One line.
  std::string_view details;  ///< Paragraphs for its own help; may be empty.
  std::vector<OptionSpec> options;
  std::vector<Example> examples;
  std::vector<std::string_view> operand_choices = {};  ///< What completion offers; empty: by kind.
  OperandKind operand_kind = OperandKind::File;
  /// Options stand before the first operand, which is a command with all words behind it.
  bool runs_command = false;
};

/// A verb with the function that runs it.
struct Verb {
  VerbSpec spec;
  /// None: the program that lies beside this one runs it, with the same words.
  ExitCode (*run)(const Arguments& arguments, Console& console) = nullptr;
  /// In place of `run` for what a program says about itself.
  ExitCode (*run_about)(const Program& program,
                        const Arguments& arguments,
                        Console& console) = nullptr;
};

/// A program: its name, and every verb there is, in the order of the overview.
struct Program {
  std::string_view name;        ///< "orrery".
  std::string_view summary;     ///< One line.
  std::string_view start_with;  ///< The command that a newcomer should try; may be several lines.
  std::string_view beside;      ///< The program that runs the verbs without a function.
  /// The program beside this one that carries a verb out with these arguments in its place; empty:
  /// none does. Null: none ever.
  std::string_view (*instead)(std::string_view verb, const Arguments& arguments) = nullptr;
  std::span<const Verb> verbs;
  Version version = {};
};

}  // namespace orrery::cli
