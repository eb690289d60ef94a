#include "tools/cluster_world/settings_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace orrery::cli {
namespace {

std::string nanoseconds(Duration time) { return std::to_string(time.ns) + "ns"; }

nlohmann::ordered_json settings_of(const Settings& settings) {
  nlohmann::ordered_json out;
  const std::pair<const char*, Duration> times[]{{"node_lease", settings.node_lease},
                                                 {"fence_margin", settings.fence_margin},
                                                 {"takeover_grace", settings.takeover_grace},
                                                 {"retain_finished", settings.retain_finished},
                                                 {"preemption_grace", settings.preemption_grace},
                                                 {"lemon_window", settings.lemon_window},
                                                 {"exclusion", settings.exclusion},
                                                 {"kill_deadline", settings.kill_deadline}};
  for (const auto& [key, time] : times)
    if (!time.is_forever()) out[key] = nanoseconds(time);
  out["retain_finished_max"] = settings.retain_finished_max;
  out["lemon_incidents"] = settings.lemon_incidents;
  return out;
}

nlohmann::ordered_json policy_of(const scenarios::PolicyChoice& policy) {
  nlohmann::ordered_json out{{"name", policy.name}};
  for (const scenarios::Parameter& parameter : policy.parameters)
    out[parameter.key] = parameter.value;
  return out;
}

nlohmann::ordered_json tls_of(const ClusterAddresses& addresses, const std::string& stem) {
  return {{"ca", addresses.certificate("ca.pem")},
          {"certificate", addresses.certificate(stem + ".pem")},
          {"key", addresses.certificate(stem + ".key")}};
}

std::string range_text(PortRange ports) {
  return std::to_string(ports.first) + "-" + std::to_string(ports.first + ports.count - 1);
}

nlohmann::ordered_json group_of(const NodeGroup& group) {
  nlohmann::ordered_json out;
  out["name"] = group.name;
  out["node_names"] = group.node_names;
  out["devices_per_node"] = group.devices;
  if (group.devices > 0) {
    out["device_model"] = group.device_model;
    out["vendor"] = to_string(group.vendor);
  }
  out["cpu"] = std::to_string(group.cpu.count) + "m";
  out["memory"] = std::to_string(group.memory.count) + "B";
  out["nodes_per_rack"] = group.nodes_per_rack;
  out["nodes_per_nvlink_domain"] = group.nodes_per_nvlink_domain;
  out["spares"] = group.spares;
  for (const HardwareCount& hardware : group.hardware)
    out["hardware"][hardware.type] = hardware.count;
  out["ports"] = range_text(group.ports);
  return out;
}

}  // namespace

std::string node_name(NodeId node) { return "node-" + std::to_string(node.value); }

std::vector<NodeGroup> named_groups(const scenarios::Scenario& scenario, PortRange ports) {
  std::vector<NodeGroup> groups = scenario.groups;
  // Nodes of one group have equal ports, which agents of one host must not share; so each node gets
  // its part of the range as far as there are groups, and workers' claims keep the others apart.
  const auto share =
      static_cast<std::int32_t>(ports.count / std::max<std::size_t>(groups.size(), 1));
  std::uint32_t node = 0;
  std::int32_t first = ports.first;
  for (NodeGroup& group : groups) {
    group.ports = {first, share};
    first += share;
    group.node_names.clear();
    for (std::int32_t i = 0; i < group.count; ++i)
      group.node_names.push_back(node_name(NodeId{node++}));
  }
  return groups;
}

std::string controller_document(const scenarios::Scenario& scenario,
                                const std::vector<NodeGroup>& groups,
                                const ClusterAddresses& addresses) {
  nlohmann::ordered_json out;
  out["name"] = "scenario";
  out["agents_address"] = addresses.agents_address;
  out["http_address"] = addresses.http_address;
  if (!addresses.certificates.empty()) out["tls"] = tls_of(addresses, "controller");
  out["store"] = {{"sqlite", addresses.journal}};
  out["policy"] = policy_of(scenario.policy);
  if (!scenario.settings.placer.empty())
    out["placer"] = scenario.settings.placer.substr(0, scenario.settings.placer.find('/'));
  out["settings"] = settings_of(scenario.settings);
  out["seed"] = scenario.seed;
  for (const NodeGroup& group : groups) out["cluster"]["groups"].push_back(group_of(group));
  out["closed_cluster"] = true;
  for (const Quota& quota : scenario.quotas) out["quotas"][quota.scope] = quota.devices;
  return out.dump(1);
}

std::string agent_document(const std::vector<NodeGroup>& groups,
                           const AgentSettings& settings,
                           const ClusterAddresses& addresses) {
  const NodeGroup* mine = nullptr;
  std::int64_t before = 0;
  for (const NodeGroup& group : groups) {
    if (settings.node.value < before + group.count) {
      mine = &group;
      break;
    }
    before += group.count;
  }
  nlohmann::ordered_json out;
  const std::string name = node_name(settings.node);
  out["node"] = name;
  out["group"] = mine->name;
  out["controllers"] = {addresses.agents_address};
  if (!addresses.certificates.empty()) out["tls"] = tls_of(addresses, "agent-" + name);
  out["address"] = settings.address;
  out["state"] = name;
  if (settings.preemption_notice > Duration::zero())
    out["preemption_notice"] = nanoseconds(settings.preemption_notice);
  out["kill_workers_at_exit"] = true;
  nlohmann::ordered_json& inventory = out["inventory"];
  inventory["cpu"] = std::to_string(mine->cpu.count) + "m";
  inventory["memory"] = std::to_string(mine->memory.count) + "B";
  inventory["devices"] = mine->devices;
  if (mine->devices > 0) inventory["device_model"] = mine->device_model;
  inventory["ports"] = range_text(mine->ports);
  return out.dump(1);
}

}  // namespace orrery::cli
