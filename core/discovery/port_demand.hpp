// Which ports a worker holds from grant to exit.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Ports at which a worker's own processes listen for their peers, the first of its block: the
/// parallel workers of the group family, one of the tasks family. Native jobs meet at
/// their master alone.
std::int32_t listening_ports(const JobSpec& spec);

/// Ports that every worker of the role takes as one block: those it listens at, then one at which a
/// process group that it leads can meet (MASTER_PORT). All workers have that one, since any of them
/// may lead after a change of membership. 0: none, as for native roles without a command, which no
/// process will ever run. Roles of one job that take ports take equally many.
std::int32_t ports_of(const JobSpec& spec, RoleIndex role);

/// The master port in the block that begins at `first_port`.
std::int32_t master_port(const JobSpec& spec, std::int32_t first_port);

}  // namespace orrery
