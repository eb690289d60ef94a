// What may be left of a worker whose shim is dead.
#pragma once

#include <optional>

#include "runtime/shim/process_lookup.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// Kills whatever still lives of a worker whose shim does not: its control group, its session and
/// process group, and every process that carries its mark. True when nothing was found: to be
/// called until then. Does not wait.
///
/// `processes`: nothing where the shim died before it wrote them. `just_died`: the shim was seen to
/// die a moment ago, so the number of its worker still means what it meant; otherwise a session
/// whose leader is gone is only touched where its members carry the mark. `scan`: made for this
/// round of calls.
bool clear_remains(const WorkerLaunch& launch,
                   const std::optional<WorkerProcesses>& processes,
                   bool just_died,
                   ProcessScan& scan);

/// Whether something is left of a worker and none of it will ever run again, though the kernel does
/// not let it go: see `is_doomed`. The rest as for `clear_remains`.
bool remains_are_doomed(const WorkerLaunch& launch,
                        const std::optional<WorkerProcesses>& processes,
                        bool just_died,
                        ProcessScan& scan);

}  // namespace orrery::runtime
