// One function per verb; the table in verbs.cpp names them.
#pragma once

#include <span>
#include <string_view>

#include "tools/console/arguments.hpp"
#include "tools/console/console.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

/// Every verb of the program, in the order of the overview.
std::span<const Verb> verbs();

/// The program beside this one that carries a verb out with these arguments; empty: this one does.
std::string_view program_instead(std::string_view verb, const Arguments& arguments);

ExitCode run_sim(const Arguments& arguments, Console& console);
ExitCode run_compare(const Arguments& arguments, Console& console);
ExitCode run_sweep(const Arguments& arguments, Console& console);
ExitCode run_test(const Arguments& arguments, Console& console);
ExitCode run_check(const Arguments& arguments, Console& console);
ExitCode run_place(const Arguments& arguments, Console& console);
/// What `run_place` does with --search.
ExitCode run_place_search(const Arguments& arguments, Console& console);
ExitCode run_explore(const Arguments& arguments, Console& console);
ExitCode run_storm_verb(const Arguments& arguments, Console& console);
/// Rows of the table that lists of formats belong to.
Verb trace_info_verb();
Verb trace_convert_verb();

ExitCode run_trace_info(const Arguments& arguments, Console& console);
ExitCode run_trace_convert(const Arguments& arguments, Console& console);

ExitCode run_policies(const Arguments& arguments, Console& console);
ExitCode run_journal_dump(const Arguments& arguments, Console& console);
ExitCode run_journal_verify(const Arguments& arguments, Console& console);
ExitCode run_replay(const Arguments& arguments, Console& console);
/// What `run_replay` does where a policy or a parameter is given.
ExitCode run_what_if(const Arguments& arguments, Console& console);
ExitCode run_journal_forecast(const Arguments& arguments, Console& console);
ExitCode run_calibrate_from(const Arguments& arguments, Console& console);
ExitCode run_parity(const Arguments& arguments, Console& console);
/// Its row, which stands with it.
Verb parity_verb();
ExitCode run_history(const Arguments& arguments, Console& console);
ExitCode run_report(const Arguments& arguments, Console& console);

}  // namespace orrery::cli
