#include "scenarios/language/placement/document_cluster.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::scenarios {
namespace {

using placement::HardwareType;

void read_texts(DocumentReading& reading,
                const YamlNode& map,
                std::string_view key,
                const std::string& subject,
                std::vector<std::string>& to) {
  const YamlNode* list = value_of(map, key);
  if (list == nullptr) return;
  const bool texts = list->is_sequence() &&
                     std::all_of(list->items.begin(), list->items.end(), [](const YamlNode& item) {
                       return item.is_scalar();
                     });
  if (!texts)
    reading.fail(place_of(*list),
                 {subject,
                  std::string(key) + " " + describe(*list),
                  "a list of names",
                  "write for example " + std::string(key) + ": [address]"});
  for (const YamlNode& item : list->items)
    if (item.is_scalar()) to.push_back(item.scalar);
}

void read_type(DocumentReading& reading,
               const YamlNode& node,
               std::size_t index,
               std::vector<HardwareType>& to) {
  const std::string subject = "hardware_types[" + std::to_string(index) + "]";
  HardwareType type;
  type.any_field = true;
  if (node.is_scalar()) {
    type.name = node.scalar;
  } else if (const YamlNode* name = value_of(node, "name"); name != nullptr && name->is_scalar()) {
    type.name = name->scalar;
    type.any_field = value_of(node, "fields") == nullptr;
    read_texts(reading, node, "fields", subject, type.fields);
    read_texts(reading, node, "required", subject, type.required);
  }
  if (type.name.empty()) {
    reading.fail(place_of(node),
                 {subject,
                  describe(node),
                  "a name, or a map with name, fields and required",
                  "write for example - {name: Conveyor, fields: [address]}"});
    return;
  }
  static constexpr std::array<std::string_view, 3> kKeys{"name", "fields", "required"};
  for (const YamlEntry& entry : node.entries)
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end())
      reading.fail(place_of(entry.key_start),
                   {subject, "key '" + entry.key + "'", "name, fields or required", "remove it"});
  for (const std::string& field : type.required)
    if (!type.any_field &&
        std::find(type.fields.begin(), type.fields.end(), field) == type.fields.end())
      type.fields.push_back(field);
  std::erase_if(to, [&](const HardwareType& known) { return known.name == type.name; });
  to.push_back(std::move(type));
}

/// Groups of a scenario's cluster, where no declared one has the label.
void join_groups(std::vector<placement::InventoryGroup> groups, placement::Inventory& inventory) {
  const auto nodes = static_cast<std::int32_t>(inventory.nodes.size());
  for (placement::InventoryGroup& group : groups) {
    std::erase_if(group.node_ranks, [&](std::int32_t rank) { return rank >= nodes; });
    std::erase_if(group.hardware, [&](const auto& entry) { return entry.node_rank >= nodes; });
    if (group.node_ranks.empty() || inventory.find(group.label) != nullptr ||
        inventory.is_unsound(group.label))
      continue;
    inventory.groups.push_back(std::move(group));
  }
}

}  // namespace

std::vector<HardwareType> read_hardware_types(const DocumentParts& parts,
                                              DocumentReading& reading) {
  std::vector<HardwareType> types = placement::built_in_hardware_types();
  const YamlNode* list = parts.find("hardware_types");
  if (list == nullptr || list->is_null()) return types;
  if (!list->is_sequence())
    reading.fail(place_of(*list),
                 {"hardware_types",
                  describe(*list),
                  "a list of types",
                  "write for example - {name: Conveyor, fields: [address]}"});
  for (std::size_t i = 0; i < list->items.size(); ++i) read_type(reading, list->items[i], i, types);
  return types;
}

bool read_document_cluster(const DocumentParts& parts,
                           DocumentReading& reading,
                           PlacementDocument& document) {
  DocumentNodes nodes = read_document_nodes(parts, reading, document.remarks);
  DocumentGroups groups = read_document_groups(parts, reading);
  const std::vector<HardwareType> types = read_hardware_types(parts, reading);
  placement::PlacementErrors errors;
  document.inventory =
      placement::make_inventory(std::move(nodes.nodes), groups.declared, types, errors);
  reading.add(errors, groups.starts);
  for (std::string& label : groups.broken) {
    std::erase_if(document.inventory.groups,
                  [&](const placement::InventoryGroup& group) { return group.label == label; });
    if (!document.inventory.is_unsound(label))
      document.inventory.unsound.push_back(std::move(label));
  }
  join_groups(std::move(nodes.groups), document.inventory);
  return nodes.sound;
}

}  // namespace orrery::scenarios
