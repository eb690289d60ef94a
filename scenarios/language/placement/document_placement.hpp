// What is placed: components by text, a strategy by name, parallel sizes, roles of jobs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "scenarios/language/placement/document_parts.hpp"
#include "scenarios/language/placement/document_reading.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/interpolation.hpp"

namespace orrery::scenarios {

/// One value of `component_placement`: a text, or a map with node_group and placement.
placement::PlacementRule read_placement_value(DocumentReading& reading,
                                              const placement::PlacedText& components,
                                              const YamlNode& value);

/// `component_placement`: a map, or a list of maps.
std::vector<placement::PlacementRule> read_component_placement(DocumentReading& reading,
                                                               const YamlNode& node);

/// `strategy`; nothing where it is wrong, which was reported.
std::optional<StrategyCall> read_strategy(DocumentReading& reading, const YamlNode& node);

/// The engine of several agents that judges.
inline constexpr std::string_view kJudge = "rollout_judge";

/// Whether a rule places the component, soundly or not.
bool is_placed(const std::vector<placement::PlacementRule>& rules, std::string_view name);

/// The program that the document is for: the context's, else by `runner.task_type`; nothing where
/// neither is there, and where the type is unknown, which is told. `document` has its rules and its
/// inventory.
std::optional<ProgramFacts> read_program(DocumentReading& reading,
                                         const YamlNode& config,
                                         const PlacementContext& context,
                                         const PlacementDocument& document);

/// Whether the program joins its pools by parallel sizes, and by which class.
bool is_model_parallel(RlinfProgram program);
placement::PoolRules pool_rules_of(RlinfProgram program);

/// The parallel sizes that `config` holds, or that the document's own sections hold. References
/// like ${actor.model.x} are followed inside `config`, and ${oc.env:NAME} by `variable`. `program`
/// may be null.
placement::ParallelSizes read_parallel_sizes(DocumentReading& reading,
                                             const YamlNode& config,
                                             const DocumentParts& parts,
                                             const Interpolation::Variable& variable,
                                             placement::PoolRules rules,
                                             const ProgramFacts* program);

/// What the document's sections call their worker groups, NAME.group_name, by section.
std::vector<KeyValue> read_group_names(DocumentReading& reading,
                                       const YamlNode& config,
                                       const Interpolation::Variable& variable);

/// `jobs` of a scenario: placements of roles, and which roles take turns.
void read_placed_jobs(DocumentReading& reading, const YamlNode& jobs, PlacementDocument& document);

}  // namespace orrery::scenarios
