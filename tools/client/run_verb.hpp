// run: a distributed program as a job of a controller, wherever that runs.
#pragma once

#include <functional>
#include <span>

#include "tools/client/run_following.hpp"
#include "tools/client/run_plan.hpp"

namespace orrery::cli {

/// What is done with the job.
struct RunMode {
  bool detach = false;
  bool as_json = false;
  ShareRule share = ShareRule::JobFile;
};

/// Prints the job file for nodes like these; submits nothing.
ExitCode print_run(const RunRequest& request,
                   std::span<const NodeFacts> nodes,
                   const RunMode& mode,
                   Console& console);

/// Submits the job, and follows it to its end unless it is to be left alone. The host is made once
/// the job's file is sound.
ExitCode run_job(const RunRequest& request,
                 const RunMode& mode,
                 Session& session,
                 const std::function<RunHost&()>& host);

/// `orrery run` without a controller of its own.
ExitCode run_on_cluster(const RunRequest& request, const Arguments& arguments, Console& console);

/// Says what became of options that mean nothing.
void tell_notes(const RunRequest& request, Console& console);

}  // namespace orrery::cli
