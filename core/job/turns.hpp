// Roles that share devices by taking turns on them.
#pragma once

#include "core/base/ids.hpp"
#include "core/cluster/seat.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Whether it is said of any role where its workers sit.
bool is_seated(const JobSpec& spec);

/// The roles that the role takes turns with: a declared group of roles, or the other worker groups
/// of its virtual cluster.
TurnKey turns_of(const JobSpec& spec, RoleIndex role);

/// Whether the role's devices are counted with another role's, which it takes turns with: all but
/// the role of most devices, the first of equals. The specification is sound (`check_spec`).
bool rides(const JobSpec& spec, RoleIndex role);

}  // namespace orrery
