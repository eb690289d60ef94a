#include "core/discovery/port_demand.hpp"

namespace orrery {

std::int32_t listening_ports(const JobSpec& spec) {
  switch (spec.family) {
    case JobFamily::Group:
      return spec.parallel_workers;
    case JobFamily::Tasks:
      return 1;
    case JobFamily::Native:
      return 0;
  }
  return 0;
}

std::int32_t ports_of(const JobSpec& spec, RoleIndex role) {
  if (spec.family == JobFamily::Native && spec.roles[role.index()].command.empty()) return 0;
  return listening_ports(spec) + 1;
}

std::int32_t master_port(const JobSpec& spec, std::int32_t first_port) {
  return first_port + listening_ports(spec);
}

}  // namespace orrery
