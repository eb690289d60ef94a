// Where roles sit, written as the scenario language says it.
#pragma once

#include <string>

#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"
#include "scenarios/language/yaml/yaml_text.hpp"

namespace orrery::sim {

/// The keys of a node group that placements go by.
void put_topology(scenarios::FlowMap& map, const NodeGroup& group);

/// The keys of a role that say where it sits.
void put_place(scenarios::FlowMap& map, const RoleSpec& role);

/// A virtual cluster without its name.
std::string virtual_cluster_of(const VirtualClusterSpec& cluster);

/// Groups of roles that take turns.
std::string turns_of(const JobSpec& spec);

}  // namespace orrery::sim
