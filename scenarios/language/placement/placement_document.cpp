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

/// Virtual clusters are read as a scenario's, whose reader knows all of a job.
void read_virtual_clusters(const DocumentParts& parts,
                           std::string_view text,
                           DocumentReading& reading,
                           PlacementDocument& document) {
  const YamlNode* jobs = value_of(parts.root(), "jobs");
  if (document.jobs.empty() || jobs == nullptr) return;
  const bool any = std::any_of(jobs->items.begin(), jobs->items.end(), [](const YamlNode& job) {
    return value_of(job, "virtual_clusters") != nullptr;
  });
  if (!any) return;
  Result<Scenario> scenario = parse_scenario(text, "");
  if (scenario) {
    document.scenario = std::make_shared<const Scenario>(std::move(scenario).value());
    return;
  }
  for (const Error& error : scenario.errors())
    reading.add_document({error.line, error.line > 0 ? 1 : 0},
                         error.subject + ": " + error.message);
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
  if (!reading.failed()) read_virtual_clusters(parts, text, reading, document);
  document.findings = reading.take_findings();
  return document;
}

}  // namespace orrery::scenarios
