// Completion scripts for shells, from the table of verbs.
#pragma once

#include <span>
#include <string>

#include "tools/orrery/verb.hpp"

namespace orrery::cli {

std::string bash_completion(std::span<const Verb> verbs);
std::string zsh_completion(std::span<const Verb> verbs);
std::string fish_completion(std::span<const Verb> verbs);

}  // namespace orrery::cli
