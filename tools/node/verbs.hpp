// The functions of the daemons' verbs.
#pragma once

#include "tools/console/arguments.hpp"
#include "tools/console/console.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

ExitCode run_controller(const Arguments& arguments, Console& console);
ExitCode run_agent(const Arguments& arguments, Console& console);
ExitCode run_up(const Arguments& arguments, Console& console);
ExitCode run_run(const Arguments& arguments, Console& console);

}  // namespace orrery::cli
