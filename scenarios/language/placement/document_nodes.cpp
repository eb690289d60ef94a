// The nodes of a placement document.
#include <algorithm>
#include <array>
#include <utility>

#include "core/placement/cluster_inventory.hpp"
#include "scenarios/language/placement/document_cluster.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

using placement::ErrorKind;
using placement::InventoryNode;

constexpr std::int64_t kNodesMax = 131'072;
constexpr std::int64_t kAcceleratorsPerNodeMax = 1024;
constexpr std::int64_t kAcceleratorsMax = 2'097'152;

constexpr std::array<std::string_view, 4> kCountKeys{
    "gpus", "accelerators", "devices", "gpus_per_node"};
constexpr std::array<std::string_view, 4> kModelKeys{
    "gpu_model", "accelerator_model", "device_model", "gpu"};
/// Keys of a node that say nothing about placement; hardware is derived from node_groups.
constexpr std::array<std::string_view, 12> kOtherKeys{"hardware",
                                                      "name",
                                                      "hostname",
                                                      "host",
                                                      "ip",
                                                      "address",
                                                      "cpu",
                                                      "cpus",
                                                      "memory",
                                                      "rack",
                                                      "node_rank",
                                                      "accelerator_type"};
/// Keys of RLinf in a cluster whose nodes are written as a scenario's.
constexpr std::array<std::string_view, 7> kNotOfScenario{"component_placement",
                                                         "node_groups",
                                                         "num_nodes",
                                                         "hardware_types",
                                                         "isolate_accelerator",
                                                         "auto_scheduler",
                                                         "use_pre_process_policy"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// One entry of `cluster.nodes`: a node, or `count` equal ones.
class NodeReader {
 public:
  NodeReader(DocumentReading& reading, const YamlNode& node, std::size_t index)
      : reading_(reading), node_(node), subject_("cluster.nodes[" + std::to_string(index) + "]") {}

  bool read(std::vector<InventoryNode>& to) {
    if (!node_.is_map()) {
      reading_.fail(place_of(node_),
                    {subject_, describe(node_), "a map", "write for example - {gpus: 8}"});
      return false;
    }
    InventoryNode node;
    std::int64_t count = 1;
    for (const YamlEntry& entry : node_.entries) read_key(entry, node, count);
    if (sound_ && static_cast<std::int64_t>(to.size()) + count > kNodesMax)
      fail(node_, std::to_string(count) + " more nodes", "at most " + std::to_string(kNodesMax));
    if (sound_) to.insert(to.end(), static_cast<std::size_t>(count), node);
    return sound_;
  }

 private:
  void read_key(const YamlEntry& entry, InventoryNode& node, std::int64_t& count) {
    std::int64_t accelerators = node.accelerators;
    if (has(kCountKeys, entry.key))
      read_number(entry, accelerators, 0, kAcceleratorsPerNodeMax);
    else if (has(kModelKeys, entry.key) && !(entry.key == "gpu" && parse_whole(entry.value)))
      read_model(entry, node.accelerator_model);
    else if (entry.key == "count")
      read_number(entry, count, 1, kNodesMax);
    else if (entry.key == "vendor")
      read_vendor(entry, node.vendor);
    else if (!has(kOtherKeys, entry.key))
      unknown(entry);
    node.accelerators = static_cast<std::int32_t>(accelerators);
  }

  void read_number(const YamlEntry& entry, std::int64_t& to, std::int64_t low, std::int64_t high) {
    const auto value = parse_whole(entry.value);
    if (value && *value >= low && *value <= high)
      to = *value;
    else
      fail(entry.value,
           entry.key + " " + describe(entry.value),
           "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }

  void read_model(const YamlEntry& entry, std::string& to) {
    if (entry.value.is_scalar() || entry.value.is_null())
      to = entry.value.scalar;
    else
      fail(entry.value, entry.key + " " + describe(entry.value), "a text");
  }

  void read_vendor(const YamlEntry& entry, DeviceVendor& to) {
    const auto vendor =
        entry.value.is_scalar() ? enum_from<DeviceVendor>(entry.value.scalar) : std::nullopt;
    if (vendor)
      to = *vendor;
    else
      fail(entry.value, "vendor " + describe(entry.value), "nvidia, amd, ascend or custom");
  }

  void unknown(const YamlEntry& entry) {
    static constexpr std::array<std::string_view, 4> kBest{"gpus", "gpu_model", "vendor", "count"};
    const std::string_view near = nearest(entry.key, kBest);
    reading_.fail(ErrorKind::UnknownField,
                  {},
                  place_of(entry.key_start),
                  {subject_,
                   "field '" + entry.key + "'",
                   "gpus, gpu_model, vendor or count",
                   near.empty() ? "remove it" : "write " + std::string(near) + ", or remove it"});
    sound_ = false;
  }

  void fail(const YamlNode& at, std::string found, std::string needed) {
    reading_.fail(place_of(at),
                  {subject_, std::move(found), std::move(needed), "correct it, or remove it"});
    sound_ = false;
  }

  DocumentReading& reading_;
  const YamlNode& node_;
  std::string subject_;
  bool sound_ = true;
};

/// The cluster as a scenario has it, without what only RLinf has.
DocumentNodes read_scenario_cluster(const YamlNode& cluster, DocumentReading& reading) {
  YamlNode top;
  top.kind = YamlNode::Kind::Map;
  top.entries.push_back({"cluster", cluster.origin, cluster, cluster.start});
  YamlNode& copy = top.entries.front().value;
  std::erase_if(copy.entries,
                [](const YamlEntry& entry) { return has(kNotOfScenario, entry.key); });
  Reading words(reading.places());
  Scenario scenario;
  read_cluster(MapReader(words, top, section("scenario"), ""), "", scenario);
  const int moved = cluster.start.line >= kYamlTextLines ? kYamlTextLines : 0;
  const bool failed = words.failed();
  reading.add_scenario(words.take_errors(), moved);
  std::int64_t nodes = 0;
  for (const NodeGroup& group : scenario.groups) nodes += group.count;
  if (nodes > kNodesMax)
    reading.fail(place_of(cluster),
                 {"cluster",
                  std::to_string(nodes) + " nodes",
                  "at most " + std::to_string(kNodesMax),
                  "place on fewer nodes"});
  if (failed || nodes > kNodesMax) return {};
  placement::Inventory inventory = placement::inventory_of(scenario.groups);
  return {std::move(inventory.nodes), std::move(inventory.groups), true};
}

DocumentNodes read_node_list(const YamlNode& list, DocumentReading& reading) {
  DocumentNodes read;
  read.sound = true;
  for (std::size_t i = 0; i < list.items.size(); ++i)
    if (!NodeReader(reading, list.items[i], i).read(read.nodes)) read.sound = false;
  if (!read.sound) read.nodes.clear();  // Ranks would count the wrong nodes.
  return read;
}

DocumentNodes missing_nodes(const DocumentParts& parts, DocumentReading& reading) {
  const YamlNode* cluster = value_of(parts.root(), "cluster");
  const YamlNode* count = parts.find("num_nodes");
  const bool sensible = count == nullptr || parse_whole(*count).value_or(1) > 0;
  if (sensible)
    reading.fail(place_of(cluster == nullptr ? parts.root() : *cluster),
                 {"cluster.nodes",
                  "nothing",
                  "what the nodes have, for nothing is asked of real ones",
                  "write for example nodes: [{count: 2, gpus: 8, gpu_model: H100}] under cluster"});
  return {};
}

/// Rule C3, and how many of the nodes are the cluster.
void apply_num_nodes(const YamlNode& count,
                     DocumentNodes& read,
                     DocumentReading& reading,
                     std::vector<std::string>& remarks) {
  const auto number = parse_whole(count);
  if (!number || *number < 1) {
    reading.fail(
        ErrorKind::NumNodesNotPositive,
        {ConfigStep::Phase::Count, 0, {}},
        place_of(count),
        {"cluster.num_nodes",
         describe(count),
         "a whole number from 1",
         read.nodes.empty() ? "write how many nodes there are"
                            : "write " + std::to_string(read.nodes.size()) + ", or remove it"});
    read.sound = false;
    return;
  }
  const auto nodes = static_cast<std::int64_t>(read.nodes.size());
  if (!read.sound || *number == nodes) return;
  if (*number < nodes) {
    read.nodes.resize(static_cast<std::size_t>(*number));
    remarks.push_back("num_nodes is " + std::to_string(*number) + ": of the " +
                      std::to_string(nodes) + " nodes only the first " + std::to_string(*number) +
                      " are used.");
    return;
  }
  reading.fail(place_of(count),
               {"cluster.num_nodes",
                std::to_string(*number) + ", but " + std::to_string(nodes) + " in cluster.nodes",
                "as many nodes as num_nodes says",
                nodes == 1 ? "write count: " + std::to_string(*number) + " at the node, or lower it"
                           : "add the others to cluster.nodes, or lower it"});
  read.nodes.clear();
  read.sound = false;
}

void check_total(const YamlNode& at, DocumentNodes& read, DocumentReading& reading) {
  std::int64_t total = 0;
  for (const InventoryNode& node : read.nodes) total += node.accelerators;
  if (total <= kAcceleratorsMax) return;
  reading.fail(place_of(at),
               {"cluster.nodes",
                std::to_string(total) + " accelerators",
                "at most " + std::to_string(kAcceleratorsMax),
                "place on fewer nodes"});
  read.nodes.clear();
  read.sound = false;
}

/// A cluster without nodes has none that num_nodes, which counts them by default, could mean.
void check_empty(const YamlNode& at, DocumentNodes& read, DocumentReading& reading) {
  if (!read.sound || !read.nodes.empty()) return;
  reading.fail(ErrorKind::NumNodesNotPositive,
               {ConfigStep::Phase::Count, 0, {}},
               place_of(at),
               {"cluster.nodes",
                "an empty list",
                "at least one node",
                "write for example nodes: [{gpus: 8}]"});
  read.sound = false;
}

}  // namespace

DocumentNodes read_document_nodes(const DocumentParts& parts,
                                  DocumentReading& reading,
                                  std::vector<std::string>& remarks) {
  const YamlNode* nodes = parts.find("nodes");
  const YamlNode* cluster = parts.cluster();
  DocumentNodes read;
  if (nodes != nullptr && nodes->is_sequence()) {
    read = read_node_list(*nodes, reading);
  } else if (cluster != nullptr) {
    nodes = cluster;
    read = read_scenario_cluster(*cluster, reading);
  } else {
    nodes = &parts.root();
    read = missing_nodes(parts, reading);
  }
  check_total(*nodes, read, reading);
  if (const YamlNode* count = parts.find("num_nodes"))
    apply_num_nodes(*count, read, reading, remarks);
  else
    check_empty(*nodes, read, reading);
  return read;
}

}  // namespace orrery::scenarios
