// The functions of the verbs that ask a running controller (tools/node_verbs says what they take).
#pragma once

#include "tools/console/arguments.hpp"
#include "tools/console/console.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

ExitCode run_submit(const Arguments& arguments, Console& console);
ExitCode run_apply(const Arguments& arguments, Console& console);
ExitCode run_get(const Arguments& arguments, Console& console);
ExitCode run_describe(const Arguments& arguments, Console& console);
ExitCode run_logs(const Arguments& arguments, Console& console);
ExitCode run_scale(const Arguments& arguments, Console& console);
ExitCode run_stop(const Arguments& arguments, Console& console);
ExitCode run_delete(const Arguments& arguments, Console& console);
ExitCode run_exclude(const Arguments& arguments, Console& console);
ExitCode run_include(const Arguments& arguments, Console& console);
ExitCode run_events(const Arguments& arguments, Console& console);
ExitCode run_top(const Arguments& arguments, Console& console);
ExitCode run_forecast(const Arguments& arguments, Console& console);
ExitCode run_calibrate(const Arguments& arguments, Console& console);
ExitCode run_accuracy(const Arguments& arguments, Console& console);

}  // namespace orrery::cli
