// Completion scripts for shells, from the table of verbs.
#pragma once

#include <span>
#include <string>

#include "tools/console/verb.hpp"

namespace orrery::cli {

std::string bash_completion(const Program& program);
std::string zsh_completion(const Program& program);
std::string fish_completion(const Program& program);

}  // namespace orrery::cli
