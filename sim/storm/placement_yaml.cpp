#include "sim/storm/placement_yaml.hpp"

#include <vector>

namespace orrery::sim {
namespace {

using scenarios::FlowMap;
using scenarios::yaml_string;

template <class Items, class Text>
std::string list_of(const Items& items, const Text& text) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return "[" + list + "]";
}

std::string numbers(const std::vector<std::int32_t>& values) {
  return list_of(values, [](std::int32_t value) { return std::to_string(value); });
}

std::string names(const std::vector<std::string>& values) {
  return list_of(values, [](const std::string& value) { return yaml_string(value); });
}

std::string placement_of(const RolePlacement& placement) {
  if (placement.node_groups.empty()) return yaml_string(placement.text);
  FlowMap map;
  map.put("node_group", names(placement.node_groups));
  return map.put("placement", yaml_string(placement.text)).text();
}

std::string worker_group_of(const WorkerGroupSpec& workers) {
  FlowMap map;
  map.put("virtual_cluster", yaml_string(workers.virtual_cluster));
  if (!workers.workers_per_node.empty()) map.put("per_node", numbers(workers.workers_per_node));
  if (!workers.tied.empty())
    map.put("tied", list_of(workers.tied, [](const TiedBundles& tied) {
              FlowMap entry;
              return entry.integer("node", tied.node).put("bundles", numbers(tied.bundles)).text();
            }));
  return map.text();
}

}  // namespace

void put_topology(FlowMap& map, const NodeGroup& group) {
  const NodeGroup usual;
  map.unless(0, "nodes_per_nvlink_domain", group.nodes_per_nvlink_domain);
  map.unless(usual.vendor, "vendor", group.vendor);
  if (group.hardware.empty()) return;
  FlowMap hardware;
  for (const HardwareCount& piece : group.hardware)
    hardware.integer(yaml_string(piece.type), piece.count);
  map.put("hardware", hardware.text());
}

void put_place(FlowMap& map, const RoleSpec& role) {
  if (role.placements.size() == 1) {
    map.put("placement", placement_of(role.placements.front()));
  } else if (!role.placements.empty()) {
    FlowMap sizes;
    for (const RolePlacement& placement : role.placements)
      sizes.put(std::to_string(placement.replicas), placement_of(placement));
    map.put("placements", sizes.text());
  }
  if (role.workers.is_set()) map.put("workers", worker_group_of(role.workers));
}

std::string virtual_cluster_of(const VirtualClusterSpec& cluster) {
  const VirtualClusterSpec usual;
  FlowMap map;
  map.put("bundles_per_node", numbers(cluster.bundles_per_node));
  map.integer("devices_per_bundle", cluster.devices_per_bundle);
  map.unless(std::string{}, "device_model", cluster.device_model);
  map.put("cpu", std::to_string(cluster.cpu_per_bundle.count) + "m");
  map.put("memory", std::to_string(cluster.memory_per_bundle.count) + "B");
  map.unless(usual.unified, "unified", cluster.unified);
  map.unless(usual.strategy, "strategy", cluster.strategy);
  map.unless(usual.max_worker_groups, "max_worker_groups", cluster.max_worker_groups);
  map.unless(usual.segment_by, "segment_by", cluster.segment_by);
  map.unless(usual.segment_size, "segment_size", cluster.segment_size);
  return map.text();
}

std::string turns_of(const JobSpec& spec) {
  return list_of(spec.take_turns, [](const TurnGroup& group) { return names(group.roles); });
}

}  // namespace orrery::sim
