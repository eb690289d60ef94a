// Makes the process of a worker and holds it back until its name is on record.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "runtime/shim/durable_file.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// A process that waits to become the worker: leader of a session and a group of its own, with the
/// user, the mounts and the group of its launch. It dies with the shim.
struct HeldWorker {
  pid_t pid = -1;
  Descriptor release;     ///< A byte lets it run its program; closed without one it ends.
  Descriptor complaints;  ///< Ends empty once the program runs, else with a WorkerComplaint.
  Descriptor output;      ///< What it writes; not blocking.
};

/// Why a program could not be run, as the process wrote it.
struct WorkerComplaint {
  int step = 0;
  int reason = 0;  ///< An errno.
};

/// From a single-threaded program only. Errors: no processes or descriptors are to be had.
Result<HeldWorker> hold_worker(const WorkerLaunch& launch);

/// kCannotRun or kNotFound where the program or the working directory is not there or cannot be
/// used, so that the same launch fails again; 0 where another try may go better.
std::int32_t exit_code_of(const WorkerComplaint& complaint);

/// The sentence for people.
std::string text_of(const WorkerComplaint& complaint, const WorkerLaunch& launch);

}  // namespace orrery::runtime
