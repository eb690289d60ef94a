// Which ports a worker holds from grant to exit.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Ports at which a worker's own processes listen for their peers, the first of its block: the
/// parallel workers of the group family, one of the tasks family. Native jobs find each other by
/// their master alone.
std::int32_t listening_ports(const JobSpec& spec);

/// Ports that the worker takes as one block: those it listens at, then, for the first worker of
/// each role, one at which the role's process group meets (MASTER_PORT). 0: none, as for native
/// roles without a command, which no process will ever run.
std::int32_t ports_of(const JobSpec& spec, RoleIndex role, std::int32_t local_rank);

/// The master port in the block of a role's first worker, which begins at `first_port`.
std::int32_t master_port(const JobSpec& spec, std::int32_t first_port);

}  // namespace orrery
