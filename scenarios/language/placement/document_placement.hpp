// What is placed: components by text, a strategy by name, parallel sizes, roles of jobs.
#pragma once

#include <optional>
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

/// The parallel sizes that `config` holds, or that the document's own sections hold. References
/// like ${actor.model.x} are followed inside `config`, and ${oc.env:NAME} by `variable`.
placement::ParallelSizes read_parallel_sizes(DocumentReading& reading,
                                             const YamlNode& config,
                                             const DocumentParts& parts,
                                             const Interpolation::Variable& variable);

/// What the document's sections call their worker groups, NAME.group_name, by section.
std::vector<KeyValue> read_group_names(DocumentReading& reading,
                                       const YamlNode& config,
                                       const Interpolation::Variable& variable);

/// Whether RLinf runs a task of this type with model-parallel placement.
bool is_model_parallel_task(std::string_view task_type);

/// `jobs` of a scenario: placements of roles, and which roles take turns.
void read_placed_jobs(DocumentReading& reading, const YamlNode& jobs, PlacementDocument& document);

}  // namespace orrery::scenarios
