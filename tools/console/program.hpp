// One run of a program with verbs: finds the verb, parses its words, runs it.
#pragma once

#include "tools/console/verb.hpp"

namespace orrery::cli {

/// What `main` returns. SIGINT and SIGTERM only set a flag from here on (interrupt.hpp).
int run_program(const Program& program, int argc, char** argv);

}  // namespace orrery::cli
