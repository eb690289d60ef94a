// The functions of the verbs of `certs`: files of certificates, keys and tokens.
#pragma once

#include "tools/console/arguments.hpp"
#include "tools/console/console.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

ExitCode run_certs_init(const Arguments& arguments, Console& console);
ExitCode run_certs_controller(const Arguments& arguments, Console& console);
ExitCode run_certs_agent(const Arguments& arguments, Console& console);
ExitCode run_certs_user(const Arguments& arguments, Console& console);
ExitCode run_certs_admin(const Arguments& arguments, Console& console);
ExitCode run_certs_token(const Arguments& arguments, Console& console);
ExitCode run_certs_show(const Arguments& arguments, Console& console);

}  // namespace orrery::cli
