// version, completion, help: what a program says about itself.
#pragma once

#include "tools/console/verb.hpp"

namespace orrery::cli {

Verb version_verb();
Verb completion_verb();
Verb help_verb();

}  // namespace orrery::cli
