// Random clusters and sound texts on them, with what each process then has: a flat list of
// resources that knows nothing of selections and ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/random.hpp"
#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {

/// One resource in the order of ranks.
struct FlatResource {
  std::int32_t node = 0;
  std::string group;
  std::string type;
  std::int32_t local = 0;

  auto device() const { return std::tuple(node, type, local); }
};

inline Inventory random_inventory(Random& random) {
  std::vector<std::int32_t> accelerators;
  const std::int64_t nodes = random.between(1, 6);
  const bool none = random.chance(0.15);
  for (std::int64_t i = 0; i < nodes; ++i) {
    accelerators.push_back(
        none || random.chance(0.2) ? 0 : static_cast<std::int32_t>(random.between(1, 5)));
  }
  Inventory inventory = cluster_of(accelerators);
  for (const char* label : {"a", "b", "c", "d"}) {
    if (random.chance(0.3)) continue;
    std::vector<std::int32_t> members;
    for (std::int32_t node = 0; node < nodes; ++node) {
      if (random.chance(0.6)) members.push_back(node);
    }
    if (members.empty()) members.push_back(0);
    if (*label == 'd') {
      std::vector<std::int32_t> robots;
      for (const std::int32_t node : members) {
        for (std::int64_t i = random.between(0, 2); i > 0; --i) robots.push_back(node);
      }
      add_robots(inventory, label, members, robots);
    } else {
      add_group(inventory, label, members).ignore_hardware = random.chance(0.1);
    }
  }
  return inventory;
}

/// Some labels of the inventory, comma-separated; empty: the whole cluster.
inline std::string random_labels(const Inventory& inventory, Random& random) {
  std::vector<std::string> known{"cluster", "node"};
  for (const InventoryGroup& group : inventory.groups) known.push_back(group.label);
  random.shuffle(known);
  std::string labels;
  const std::int64_t count = random.between(0, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    labels += (labels.empty() ? "" : ",") + known[static_cast<std::size_t>(i)];
  }
  return labels;
}

inline std::vector<std::string> split(const std::string& labels) {
  std::vector<std::string> out{""};
  for (const char c : labels) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  if (labels.empty()) out = {"cluster"};
  return out;
}

inline std::vector<std::int32_t> nodes_of(const Inventory& inventory, const std::string& label) {
  if (const InventoryGroup* group = inventory.find(label)) return group->node_ranks;
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < inventory.nodes.size(); ++i) {
    all.push_back(static_cast<std::int32_t>(i));
  }
  return all;
}

inline std::int32_t gpus(const Inventory& inventory, std::int32_t node) {
  return inventory.nodes[static_cast<std::size_t>(node)].accelerators;
}

inline std::string type_of(const Inventory& inventory, const std::string& label) {
  const InventoryGroup* group = inventory.find(label);
  if (group != nullptr && !group->hardware_type.empty()) return group->hardware_type;
  if (label == "node" || (group != nullptr && group->ignore_hardware)) return "Node";
  for (const std::int32_t node : nodes_of(inventory, label)) {
    if (gpus(inventory, node) > 0) return "Accelerator";
  }
  return "Node";
}

/// Rules P13 to P15, resource by resource.
inline std::vector<FlatResource> flatten(const Inventory& inventory, const std::string& labels) {
  bool as_nodes = false;
  for (const std::string& label : split(labels)) {
    as_nodes = as_nodes || type_of(inventory, label) == "Node";
  }
  std::vector<FlatResource> out;
  for (const std::string& label : split(labels)) {
    const std::string type = as_nodes ? "Node" : type_of(inventory, label);
    for (const std::int32_t node : nodes_of(inventory, label)) {
      std::int32_t count = 1;
      if (type == "Accelerator") count = gpus(inventory, node);
      if (type == "Franka") {
        count = 0;
        for (const HardwareEntry& robot : inventory.find(label)->hardware) {
          count += robot.node_rank == node ? 1 : 0;
        }
      }
      for (std::int32_t i = 0; i < count; ++i) out.push_back({node, label, type, i});
    }
  }
  return out;
}

/// A text with the resources of each process; the text is sound but for rules P17 and P18.
struct GeneratedText {
  std::string text;
  std::vector<std::vector<FlatResource>> processes;
};

inline std::string range_text(std::int64_t first, std::int64_t last, Random& random) {
  const auto blank = [&] { return std::string(random.chance(0.1) ? " " : ""); };
  std::string text = std::to_string(first);
  if (first != last || random.chance(0.1)) text += blank() + '-' + blank() + std::to_string(last);
  return blank() + text + blank();
}

inline void add_entry(GeneratedText& out,
                      const std::vector<FlatResource>& resources,
                      std::int64_t first,
                      std::int64_t last,
                      Random& random) {
  const std::int64_t count = last - first + 1;
  const auto next = static_cast<std::int64_t>(out.processes.size());
  std::int64_t processes = count;
  if (random.chance(0.6)) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= count; ++d) {
      if (count % d == 0) divisors.push_back(d);
    }
    processes =
        random.chance(0.5) ? divisors[random.below(divisors.size())] : count * random.between(1, 3);
  }
  const bool is_all = first == 0 && last + 1 == static_cast<std::int64_t>(resources.size());
  out.text += is_all && random.chance(0.5) ? "All" : range_text(first, last, random);
  if (processes != count || random.chance(0.3)) {
    out.text += ':' + range_text(next, next + processes - 1, random);
  }
  out.text += random.chance(0.1) ? ", ," : ",";
  for (std::int64_t p = 0; p < processes; ++p) {
    out.processes.emplace_back();
    for (std::int64_t r = 0; r < count; ++r) {
      // Process p and resource r belong together where their shares of the entry meet.
      const bool meet = p * count < (r + 1) * processes && r * processes < (p + 1) * count;
      if (meet) out.processes.back().push_back(resources[static_cast<std::size_t>(first + r)]);
    }
  }
}

inline GeneratedText random_text(const std::vector<FlatResource>& resources, Random& random) {
  GeneratedText out;
  const auto count = static_cast<std::int64_t>(resources.size());
  std::int64_t at = 0;
  while (at < count) {
    if (random.chance(0.3)) ++at;
    if (at >= count) break;
    const std::int64_t last = random.chance(0.2) ? count - 1 : random.between(at, count - 1);
    add_entry(out, resources, at, last, random);
    at = last + 1;
    if (random.chance(0.4)) break;
  }
  if (out.processes.empty()) add_entry(out, resources, 0, count - 1, random);
  return out;
}

}  // namespace orrery::placement
