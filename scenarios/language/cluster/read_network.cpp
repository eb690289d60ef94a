#include <algorithm>
#include <initializer_list>
#include <utility>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kLengthMax = 1'048'576;
constexpr double kOversubscriptionMax = 1e6;

using Keys = std::initializer_list<std::string_view>;

/// Keys that describe links, of which each topology has some.
constexpr std::string_view kLinkKeys[]{"nic_bandwidth",
                                       "latency",
                                       "nodes_per_leaf",
                                       "oversubscription",
                                       "link_bandwidth",
                                       "torus",
                                       "dragonfly",
                                       "platform"};

/// Reports the link keys that have no meaning for the topology.
void check_link_keys(const MapReader& reader, NetworkTopology topology, Keys meant) {
  for (std::string_view key : kLinkKeys)
    if (reader.has(key) && std::find(meant.begin(), meant.end(), key) == meant.end())
      reader.fail(key,
                  "has no meaning for topology " + std::string(to_string(topology)) +
                      "; remove it or change the topology");
}

/// Reports a shape with another number of places than the cluster has nodes.
void check_places(const MapReader& reader,
                  std::string_view key,
                  std::int64_t places,
                  std::int64_t nodes) {
  if (nodes > 0 && places != nodes)
    reader.fail(key,
                "has " + std::to_string(places) + " places, but the cluster has " +
                    std::to_string(nodes) + " nodes, as many are needed; change one of the two");
}

void read_torus(const MapReader& reader, const Scenario& scenario, NetworkSpec& network) {
  if (!reader.has("torus")) return reader.missing("torus", "torus: [4, 4, 2]");
  std::int64_t places = 1;
  bool sound = true;
  for (const YamlNode& item : reader.items("torus")) {
    const auto length = item.is_scalar() ? parse_integer(item.scalar) : std::nullopt;
    if (length && *length >= 1 && *length <= kLengthMax) {
      network.torus.push_back(static_cast<std::int32_t>(*length));
      if (places <= kLengthMax) places *= *length;  // Beyond that it is too many anyway.
      continue;
    }
    sound = false;
    reader.reading().fail(
        item.origin,
        reader.subject_of("torus"),
        "an entry " + found_instead(item, "a whole number of nodes from 1", "correct it"));
  }
  if (!sound) return;
  if (network.torus.empty() || network.torus.size() > 4)
    return reader.fail("torus",
                       "has " + std::to_string(network.torus.size()) +
                           " axes, 1 to 4 are needed; write for example [4, 4, 2]");
  check_places(reader, "torus", places, scenario.node_count());
}

void read_dragonfly(const MapReader& network, const Scenario& scenario, DragonflyShape& shape) {
  const YamlNode* node = network.find("dragonfly");
  if (node == nullptr)
    return network.missing("dragonfly",
                           "dragonfly: {groups: 2, chassis: 2, routers: 4, nodes_per_router: 4}");
  const MapReader reader(network.reading(),
                         *node,
                         section("cluster.network.dragonfly"),
                         network.subject_of("dragonfly"));
  if (!node->is_map()) return;
  for (const auto& [key, count] : {std::pair{"groups", &shape.groups},
                                   {"chassis", &shape.chassis},
                                   {"routers", &shape.routers},
                                   {"nodes_per_router", &shape.nodes_per_router}}) {
    if (!reader.has(key)) reader.missing(key, std::string(key) + ": 4");
    reader.read_integer(key, *count, 1, 4096);
  }
  if (shape.groups > shape.routers)
    reader.fail("groups",
                "is " + std::to_string(shape.groups) + ", more than the " +
                    std::to_string(shape.routers) +
                    " routers of a chassis, each of which leads to one other group at most; lower "
                    "it or raise routers");
  check_places(network,
               "dragonfly",
               std::int64_t{shape.groups} * shape.chassis * shape.routers * shape.nodes_per_router,
               scenario.node_count());
}

void read_topology(const MapReader& reader,
                   const std::string& directory,
                   const Scenario& scenario,
                   NetworkSpec& network) {
  const NetworkTopology topology = network.topology;
  switch (topology) {
    case NetworkTopology::Star:
      return check_link_keys(reader, topology, {"nic_bandwidth", "latency"});
    case NetworkTopology::FatTree:
      if (!reader.has("nodes_per_leaf")) reader.missing("nodes_per_leaf", "nodes_per_leaf: 32");
      reader.read_integer("nodes_per_leaf", network.nodes_per_leaf, 1, kLengthMax);
      reader.read_number("oversubscription", network.oversubscription, 1, kOversubscriptionMax);
      return check_link_keys(
          reader,
          topology,
          {"nic_bandwidth", "latency", "nodes_per_leaf", "oversubscription", "link_bandwidth"});
    case NetworkTopology::Dragonfly:
      read_dragonfly(reader, scenario, network.dragonfly);
      return check_link_keys(
          reader, topology, {"nic_bandwidth", "latency", "dragonfly", "link_bandwidth"});
    case NetworkTopology::Torus:
      read_torus(reader, scenario, network);
      return check_link_keys(
          reader, topology, {"nic_bandwidth", "latency", "torus", "link_bandwidth"});
    case NetworkTopology::Platform:
      read_path(reader, "platform", "platform: cluster.xml", directory, network.platform);
      return check_link_keys(reader, topology, {"platform"});
  }
}

/// What the slowest devices of the cluster reach inside their node, where their models say.
double slowest_devices(const Scenario& scenario, double otherwise) {
  double slowest = 0;
  for (const NodeGroup& group : scenario.groups) {
    if (group.devices == 0) continue;
    const DeviceModel* model = find_device_model(scenario.device_models, group.device_model);
    if (model == nullptr || model->bandwidth <= 0) continue;
    slowest = slowest > 0 ? std::min(slowest, model->bandwidth) : model->bandwidth;
  }
  return slowest > 0 ? slowest : otherwise;
}

}  // namespace

void read_device_models(const MapReader& cluster, Scenario& scenario) {
  const YamlNode* node = cluster.find("devices");
  if (node == nullptr) return;
  if (!node->is_map()) {
    cluster.fail("devices",
                 found_instead(*node,
                               "a map from names of models to what they can do",
                               "write for example {h200: {compute: 989TFLOPS}}; the number of "
                               "devices is devices_per_node"));
    return;
  }
  for (const YamlEntry& entry : node->entries) {
    const MapReader reader(cluster.reading(),
                           entry.value,
                           section("cluster.devices"),
                           cluster.subject_of("devices." + entry.key));
    DeviceModel model;
    // What is not written is as built in, where that model is.
    if (const DeviceModel* known = find_device_model({}, entry.key)) model = *known;
    model.name = entry.key;
    reader.read_compute("compute", model.flops);
    reader.read_size("memory", model.memory);
    reader.read_bandwidth("bandwidth", model.bandwidth);
    reader.read_number("speed", model.speed, 1e-6, 1e6);
    if (model.flops <= 0 && !reader.has("compute") && !reader.has("speed"))
      reader.missing("compute", "compute: 989TFLOPS");
    const auto same = [&](const DeviceModel& other) { return other.name == model.name; };
    if (std::any_of(scenario.device_models.begin(), scenario.device_models.end(), same))
      reader.reading().fail(
          entry.key_origin, reader.subject(), "stands twice, once is needed; remove one of them");
    scenario.device_models.push_back(std::move(model));
  }
}

void read_network(const MapReader& cluster, const std::string& directory, Scenario& scenario) {
  NetworkSpec& network = scenario.network;
  network.device_bandwidth = slowest_devices(scenario, network.device_bandwidth);
  const YamlNode* node = cluster.find("network");
  if (node == nullptr) return;
  const MapReader reader(
      cluster.reading(), *node, section("cluster.network"), cluster.subject_of("network"));
  if (!node->is_map()) return;
  network.declared = true;
  reader.read_enum("topology", network.topology);
  reader.read_enum("wiring", network.wiring);
  reader.read_bandwidth("nic_bandwidth", network.nic_bandwidth);
  reader.read_duration("latency", network.latency);
  network.link_bandwidth = network.nic_bandwidth;
  reader.read_bandwidth("link_bandwidth", network.link_bandwidth);
  reader.read_bandwidth("device_bandwidth", network.device_bandwidth);
  reader.read_bandwidth("storage_bandwidth", network.storage_bandwidth);
  reader.read_duration("stage", network.stage);
  if (network.stage.ns == 0)
    reader.fail("stage", "is 0, a time above 0 is needed; write for example 60s");
  read_topology(reader, directory, scenario, network);
}

}  // namespace orrery::scenarios
