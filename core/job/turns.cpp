#include "core/job/turns.hpp"

#include <algorithm>

namespace orrery {
namespace {

// Worker groups of virtual clusters come after the declared groups.
constexpr std::uint16_t kVirtualClusters = 10'000;

std::int64_t devices_of(const RoleSpec& role) {
  return std::int64_t{role.max_replicas} * role.bundle.devices;
}

}  // namespace

bool is_seated(const JobSpec& spec) {
  return std::any_of(
      spec.roles.begin(), spec.roles.end(), [](const RoleSpec& role) { return role.is_seated(); });
}

TurnKey turns_of(const JobSpec& spec, RoleIndex role) {
  const RoleSpec& self = spec.roles[role.index()];
  for (std::size_t g = 0; g < spec.take_turns.size(); ++g) {
    const std::vector<std::string>& roles = spec.take_turns[g].roles;
    if (std::find(roles.begin(), roles.end(), self.name) != roles.end())
      return {static_cast<std::uint16_t>(g + 1), role.value};
  }
  for (std::size_t v = 0; self.workers.is_set() && v < spec.virtual_clusters.size(); ++v)
    if (spec.virtual_clusters[v].name == self.workers.virtual_cluster &&
        spec.virtual_clusters[v].max_worker_groups > 1)
      return {static_cast<std::uint16_t>(kVirtualClusters + v), role.value};
  return {};
}

bool rides(const JobSpec& spec, RoleIndex role) {
  const TurnKey turns = turns_of(spec, role);
  if (turns.group == 0) return false;
  const std::int64_t mine = devices_of(spec.roles[role.index()]);
  for (std::size_t r = 0; r < spec.roles.size(); ++r) {
    const RoleIndex other{static_cast<std::uint16_t>(r)};
    if (other == role || turns_of(spec, other).group != turns.group) continue;
    const std::int64_t theirs = devices_of(spec.roles[r]);
    if (theirs > mine || (theirs == mine && other < role)) return true;
  }
  return false;
}

}  // namespace orrery
