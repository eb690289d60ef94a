#include <algorithm>
#include <optional>
#include <utility>

#include "core/placement/inventory.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kNodesMax = 1'048'576;
constexpr std::int64_t kHardwareMax = 64;
constexpr Bytes kDefaultMemory{std::int64_t{1024} << 30};
constexpr MilliCpu kDefaultCpu{128'000};

/// Two spellings of one key: both at once is an error.
std::string_view one_of(const MapReader& reader, std::string_view key, std::string_view alias) {
  if (reader.has(key) && reader.has(alias))
    reader.fail(
        alias,
        "stands beside '" + std::string(key) + "', which means the same, one is needed; remove it");
  return reader.has(alias) && !reader.has(key) ? alias : key;
}

/// Pieces of custom hardware by type, as they are numbered on each node.
std::vector<HardwareCount> read_hardware(const MapReader& reader) {
  std::vector<HardwareCount> hardware;
  const YamlNode* node = reader.find("hardware");
  if (node == nullptr) return hardware;
  if (!node->is_map()) {
    reader.fail(
        "hardware",
        found_instead(*node, "a map from a type to a number", "write for example {Franka: 2}"));
    return hardware;
  }
  std::int64_t pieces = 0;
  for (const YamlEntry& entry : node->entries) {
    const std::string subject = reader.subject_of("hardware") + "." + entry.key;
    const std::int64_t count =
        entry.value.is_scalar() ? parse_integer(entry.value.scalar).value_or(0) : 0;
    const bool repeated = std::any_of(hardware.begin(), hardware.end(), [&](const auto& earlier) {
      return earlier.type == entry.key;
    });
    if (repeated)
      reader.reading().fail(
          entry.key_origin, subject, "stands twice, once is needed; add up the numbers");
    if (entry.key.empty() || entry.key == placement::kClusterLabel ||
        entry.key == placement::kNodeLabel)
      reader.reading().fail(entry.key_origin,
                            subject,
                            "is no name of a type, for 'cluster' and 'node' mean nodes; write "
                            "for example Franka");
    if (count >= 1 && count <= kHardwareMax) {
      hardware.push_back({entry.key, static_cast<std::int32_t>(count)});
      pieces += count;
    } else {
      reader.reading().fail(
          entry.value.origin,
          subject,
          found_instead(entry.value,
                        "a whole number from 1 to " + std::to_string(kHardwareMax),
                        "say how many each node has"));
    }
  }
  if (pieces > kHardwareMax)
    reader.fail("hardware",
                "are " + std::to_string(pieces) + " pieces on each node, at most " +
                    std::to_string(kHardwareMax) + " are needed; spread them over more nodes");
  // Jobs are placed on the first of them, for their own errors: units beyond have no bit.
  std::int32_t room = kHardwareMax;
  for (HardwareCount& each : hardware) {
    each.count = std::min(each.count, room);
    room -= each.count;
  }
  std::erase_if(hardware, [](const HardwareCount& each) { return each.count == 0; });
  return hardware;
}

}  // namespace

void read_ports(const MapReader& reader, PortRange& ports) {
  if (!reader.has("ports")) return;
  std::string text;
  reader.read_text("ports", text);
  if (const std::optional<PortRange> read = parse_port_range(text))
    ports = *read;
  else if (!text.empty())
    reader.fail("ports",
                "is '" + text + "', the first and last of 1 to " + std::to_string(kPortMax) +
                    " with a dash between them are needed; write for example " +
                    std::to_string(kPortFirst) + "-" + std::to_string(kPortEnd - 1));
}

NodeGroup read_node_group(const MapReader& reader, std::string default_name, std::int32_t named) {
  NodeGroup group;
  group.name = std::move(default_name);
  group.count = named;
  group.cpu = kDefaultCpu;
  group.memory = kDefaultMemory;
  group.devices = 8;
  if (named == 0 && !reader.has("nodes")) reader.missing("nodes", "nodes: 4");
  reader.read_integer("nodes", group.count, 1, kNodesMax);
  reader.read_integer(one_of(reader, "devices_per_node", "gpus_per_node"), group.devices, 0, 64);
  group.device_model = group.devices > 0 ? "gpu" : "";
  const std::string_view model = one_of(reader, "device_model", "gpu");
  reader.read_text(model, group.device_model);
  if (group.devices == 0 && reader.has(model))
    reader.fail(model, "names a model, but the nodes have no devices; remove it or add devices");
  reader.read_cpu("cpu", group.cpu);
  reader.read_size("memory", group.memory);
  reader.read_integer("nodes_per_rack", group.nodes_per_rack, 0, kNodesMax);
  reader.read_integer("spares", group.spares, 0, kNodesMax);
  if (group.count > 0 && group.spares >= group.count)
    reader.fail("spares",
                "leaves none of the " + std::to_string(group.count) +
                    " nodes to work; lower it or raise nodes");
  reader.read_integer("nodes_per_nvlink_domain", group.nodes_per_nvlink_domain, 0, kNodesMax);
  reader.read_enum("vendor", group.vendor);
  if (group.devices == 0 && reader.has("vendor"))
    reader.fail("vendor",
                "names a vendor of devices, but the nodes have none; remove it or add some");
  group.hardware = read_hardware(reader);
  read_ports(reader, group.ports);
  return group;
}

namespace {

/// One group of equal nodes, and how many of them share a switch.
NodeGroup read_group(const MapReader& reader, std::string default_name, Scenario& scenario) {
  NodeGroup group = read_node_group(reader, std::move(default_name), 0);
  std::int32_t nodes_per_switch = 0;
  reader.read_integer("nodes_per_switch", nodes_per_switch, 0, kNodesMax);
  scenario.nodes_per_switch.push_back(nodes_per_switch);
  return group;
}

void read_groups(const MapReader& cluster, Scenario& scenario) {
  for (std::string_view key : section("cluster").keys)
    if (key != "groups" && key != "devices" && key != "network" && cluster.has(key))
      cluster.fail(key, "stands beside 'groups', which say it for each group; move it there");
  for (const YamlNode& item : cluster.items("groups")) {
    const std::string index = std::to_string(scenario.groups.size());
    const MapReader reader(
        cluster.reading(), item, section("cluster.groups"), "cluster.groups[" + index + "]");
    NodeGroup group = read_group(reader, "group-" + index, scenario);
    reader.read_text("name", group.name);
    const bool repeated = std::any_of(scenario.groups.begin(),
                                      scenario.groups.end(),
                                      [&](const NodeGroup& g) { return g.name == group.name; });
    if (repeated)
      reader.fail("name", "is '" + group.name + "', which stands twice; give each group a name");
    scenario.groups.push_back(std::move(group));
  }
  if (scenario.groups.empty())
    cluster.fail("groups", "has no group, at least one is needed; add - {nodes: 4}");
}

/// Whether the workload's file says how many hosts there are.
bool workload_has_hosts(const MapReader& top) {
  const YamlNode* workload = top.find("workload");
  return workload != nullptr && workload->is_map() &&
         std::any_of(workload->entries.begin(),
                     workload->entries.end(),
                     [](const YamlEntry& entry) { return entry.key == "batsim"; });
}

}  // namespace

void read_quotas(const MapReader& top, std::vector<Quota>& quotas) {
  const YamlNode* node = top.find("quotas");
  if (node == nullptr) return;
  if (!node->is_map()) {
    top.fail("quotas",
             found_instead(*node, "a map", "write lines like group/research: 8 under it"));
    return;
  }
  for (const YamlEntry& entry : node->entries) {
    const std::string subject = "quotas." + entry.key;
    const std::size_t slash = entry.key.find('/');
    const std::string_view kind = std::string_view(entry.key).substr(0, slash);
    if (slash == std::string::npos || (kind != "group" && kind != "namespace") ||
        slash + 1 == entry.key.size())
      top.reading().fail(entry.key_origin,
                         subject,
                         "is no scope, group/NAME or namespace/NAME is needed; write for example "
                         "group/research: 8");
    const auto devices = entry.value.is_scalar() ? parse_integer(entry.value.scalar) : std::nullopt;
    if (!devices || *devices < 0 || *devices > INT32_MAX) {
      top.reading().fail(entry.value.origin,
                         subject,
                         found_instead(entry.value,
                                       "a whole number of devices from 0",
                                       "write for example group/research: 8"));
      continue;
    }
    const bool repeated = std::any_of(
        quotas.begin(), quotas.end(), [&](const Quota& q) { return q.scope == entry.key; });
    if (repeated)
      top.reading().fail(
          entry.key_origin, subject, "stands twice, once is needed; remove one of them");
    quotas.push_back({entry.key, static_cast<std::int32_t>(*devices)});
  }
}

void read_cluster(const MapReader& top, const std::string& directory, Scenario& scenario) {
  const YamlNode* node = top.find("cluster");
  if (node == nullptr) {
    if (!workload_has_hosts(top)) top.missing("cluster", "cluster: {nodes: 4, gpus_per_node: 8}");
  } else {
    const MapReader cluster(top.reading(), *node, section("cluster"), "cluster");
    if (cluster.has("groups"))
      read_groups(cluster, scenario);
    else if (node->is_map())
      scenario.groups.push_back(read_group(cluster, "nodes", scenario));
    read_device_models(cluster, scenario);
    read_network(cluster, directory, scenario);
  }
  read_quotas(top, scenario.quotas);
  read_priority_classes(top, scenario.priority_classes);
}

}  // namespace orrery::scenarios
