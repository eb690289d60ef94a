// version, completion, help: what the program says about itself.
#include <algorithm>
#include <string>

#include "tools/orrery/completion.hpp"
#include "tools/orrery/help.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {

ExitCode run_version(const Arguments&, Console& console) {
  console.out("orrery " ORRERY_VERSION "\n");
  return ExitCode::Met;
}

ExitCode run_completion(const Arguments& arguments, Console& console) {
  const std::string& shell = arguments.operands().front();
  if (shell == "bash") {
    console.out(bash_completion(verbs()));
  } else if (shell == "zsh") {
    console.out(zsh_completion(verbs()));
  } else if (shell == "fish") {
    console.out(fish_completion(verbs()));
  } else {
    console.err("orrery completion: \"" + shell +
                "\" found, needed one of bash, zsh, fish; name one of them\n");
    return ExitCode::BadInput;
  }
  return ExitCode::Met;
}

ExitCode run_help(const Arguments& arguments, Console& console) {
  std::string wanted;
  for (const std::string& word : arguments.operands()) wanted += (wanted.empty() ? "" : " ") + word;
  if (wanted.empty()) {
    console.out(overview(verbs()));
    return ExitCode::Met;
  }
  bool found = false;
  for (const Verb& verb : verbs()) {
    const std::string_view name = verb.spec.name;
    // "help trace" shows everything that begins with that word.
    if (name != wanted && !(name.starts_with(wanted) && name[wanted.size()] == ' ')) continue;
    console.out((found ? "\n" : "") + verb_help(verb.spec));
    found = true;
  }
  if (found) return ExitCode::Met;
  console.err("orrery help: " + wanted + ": unknown verb; the verbs are " + verb_names(verbs()) +
              "\n");
  return ExitCode::BadInput;
}

}  // namespace orrery::cli
