// Help texts from the table of verbs.
#pragma once

#include <span>
#include <string>

#include "tools/console/verb.hpp"

namespace orrery::cli {

/// Every verb with its summary: what `orrery help` prints.
std::string overview(const Program& program);

/// Usage, details, options and examples of one verb: what `orrery help VERB` prints.
std::string verb_help(const VerbSpec& verb);

/// The names of all verbs, joined by ", ".
std::string verb_names(std::span<const Verb> verbs);

}  // namespace orrery::cli
