#include "scenarios/language/placement/placement_document.hpp"

#include <algorithm>
#include <utility>

#include "scenarios/language/loader.hpp"
#include "scenarios/language/placement/document_cluster.hpp"
#include "scenarios/language/placement/document_parts.hpp"
#include "scenarios/language/placement/document_placement.hpp"
#include "scenarios/language/placement/document_reading.hpp"

namespace orrery::scenarios {
namespace {

/// What the key `kind` of a case may say.
void check_kind(const DocumentParts& parts, DocumentReading& reading, bool has_strategy) {
  const YamlNode* kind = value_of(parts.root(), "kind");
  if (kind == nullptr || !kind->is_scalar() || kind->scalar != "strategy" || has_strategy) return;
  reading.fail(place_of(*kind),
               {"kind",
                "strategy without a strategy",
                "the key strategy",
                "write for example strategy: {type: node, node_ranks: [0]}"});
}

/// By which class pools are joined; nothing where each component follows its text.
std::optional<placement::PoolRules> pool_rules(const DocumentParts& parts,
                                               PlacementMode mode,
                                               const PlacementDocument& document) {
  using placement::PoolRules;
  switch (mode) {
    case PlacementMode::AsWritten:
      break;
    case PlacementMode::Hybrid:
      return std::nullopt;
    case PlacementMode::ModelParallel:
      return PoolRules::Training;
    case PlacementMode::Evaluation:
      return PoolRules::Evaluation;
    case PlacementMode::MultiAgent:
      return PoolRules::MultiAgent;
    case PlacementMode::MultiAgentEvaluation:
      return PoolRules::MultiAgentEvaluation;
  }
  if (document.program && is_model_parallel(document.program->program))
    return pool_rules_of(document.program->program);
  const YamlNode* config = parts.find("config");
  const YamlNode* kind = value_of(parts.root(), "kind");
  const bool has_sizes = (config != nullptr && config->is_map()) ||
                         (kind != nullptr && kind->scalar == "model_parallel");
  return has_sizes && !document.program ? std::optional(PoolRules::Training) : std::nullopt;
}

void read_components(const DocumentParts& parts,
                     PlacementMode mode,
                     const PlacementContext& context,
                     DocumentReading& reading,
                     PlacementDocument& document) {
  if (const YamlNode* node = parts.placement())
    document.rules = read_component_placement(reading, *node);
  const YamlNode* config = parts.find("config");
  const bool own = config == nullptr || !config->is_map();
  const YamlNode& sections = own ? parts.root() : *config;
  document.group_names = read_group_names(reading, sections, context.sources.variable);
  if (mode == PlacementMode::AsWritten) {
    const bool inside = !own && value_of(*config, "runner") != nullptr;
    document.program = read_program(reading, inside ? *config : parts.root(), context, document);
  }
  const std::optional<placement::PoolRules> rules = pool_rules(parts, mode, document);
  if (!rules) return;
  document.sizes = read_parallel_sizes(reading,
                                       sections,
                                       parts,
                                       context.sources.variable,
                                       *rules,
                                       document.program ? &*document.program : nullptr);
}

/// The components to be placed, in whichever form.
void read_who(const DocumentParts& parts,
              PlacementMode mode,
              const PlacementContext& context,
              DocumentReading& reading,
              PlacementDocument& document) {
  const YamlNode* strategy = parts.find("strategy");
  const YamlNode* jobs = value_of(parts.root(), "jobs");
  const bool has_strategy = strategy != nullptr && !strategy->is_null();
  check_kind(parts, reading, has_strategy);
  if (has_strategy)
    document.strategy = read_strategy(reading, *strategy);
  else if (jobs != nullptr && parts.placement() == nullptr)
    read_placed_jobs(reading, *jobs, document);
  else
    read_components(parts, mode, context, reading, document);
  if (reading.failed() || document.strategy || !document.rules.empty() || !document.jobs.empty())
    return;
  reading.fail(place_of(parts.root()),
               {"document",
                "nothing to place",
                "component_placement, strategy, or jobs whose roles have a placement",
                "write for example component_placement: {actor: 0-3}"});
}

/// A node that stands where another does.
YamlNode node_at(const YamlNode& place, YamlNode::Kind kind, std::string scalar = {}) {
  YamlNode out;
  out.kind = kind;
  out.origin = place.origin;
  out.start = place.start;
  out.scalar = std::move(scalar);
  return out;
}

/// The cluster as a scenario writes it, for nodes that are written as a list: equal neighbours are
/// a group. What a list does not say, cores and memory, is as it is written beside the list.
YamlNode cluster_of_nodes(const YamlNode& list,
                          const YamlNode* written,
                          const std::vector<placement::InventoryNode>& nodes) {
  using Kind = YamlNode::Kind;
  YamlNode groups = node_at(list, Kind::Sequence);
  for (std::size_t first = 0, end = 0; first < nodes.size(); first = end) {
    const placement::InventoryNode& node = nodes[first];
    while (end < nodes.size() && nodes[end].accelerators == node.accelerators &&
           nodes[end].accelerator_model == node.accelerator_model)
      ++end;
    YamlNode group = node_at(list, Kind::Map);
    const auto add = [&](std::string key, YamlNode value) {
      group.entries.push_back({std::move(key), list.origin, std::move(value), list.start});
    };
    add("nodes", node_at(list, Kind::Scalar, std::to_string(end - first)));
    add("devices_per_node", node_at(list, Kind::Scalar, std::to_string(node.accelerators)));
    if (node.accelerators > 0 && !node.accelerator_model.empty())
      add("device_model", node_at(list, Kind::Scalar, node.accelerator_model));
    for (const char* key : {"cpu", "memory"})
      if (const YamlNode* value = written == nullptr ? nullptr : value_of(*written, key))
        add(key, *value);
    groups.items.push_back(std::move(group));
  }
  YamlNode cluster = node_at(list, Kind::Map);
  cluster.entries.push_back({"groups", list.origin, std::move(groups), list.start});
  return cluster;
}

/// Virtual clusters are read as a scenario's, whose reader knows all of a job. It reads what was
/// composed, and the cluster that the other roles are placed on.
void read_virtual_clusters(const DocumentParts& parts,
                           DocumentReading& reading,
                           PlacementDocument& document) {
  const YamlNode* jobs = value_of(parts.root(), "jobs");
  if (document.jobs.empty() || jobs == nullptr) return;
  const bool any = std::any_of(jobs->items.begin(), jobs->items.end(), [](const YamlNode& job) {
    return value_of(job, "virtual_clusters") != nullptr;
  });
  if (!any) return;
  YamlNode root = parts.root();
  const YamlNode* nodes = parts.find("nodes");
  if (nodes != nullptr && nodes->is_sequence()) {
    YamlNode cluster =
        cluster_of_nodes(*nodes, value_of(root, "cluster"), document.inventory.nodes);
    if (YamlNode* written = root.find("cluster"))
      *written = std::move(cluster);
    else
      root.entries.push_back({"cluster", cluster.origin, cluster, cluster.start});
  }
  Result<Scenario> scenario = scenario_of(root, reading.places());
  if (scenario)
    document.scenario = std::make_shared<const Scenario>(std::move(scenario).value());
  else
    reading.add_scenario(scenario.errors());
}

}  // namespace

PlacementDocument read_placement_document(std::string_view text,
                                          PlacementMode mode,
                                          const PlacementContext& context) {
  PlacementDocument document;
  DocumentReading reading;
  const DocumentParts parts(text, context, reading, document.files);
  if (parts.readable()) {
    document.has_inventory = read_document_cluster(parts, reading, document);
    if (const YamlNode* node = parts.find("isolate_accelerator"))
      document.isolate_accelerators = read_truth(reading, *node, "isolate_accelerator", true);
    read_who(parts, mode, context, reading, document);
  }
  if (!reading.failed()) read_virtual_clusters(parts, reading, document);
  document.findings = reading.take_findings();
  return document;
}

}  // namespace orrery::scenarios
