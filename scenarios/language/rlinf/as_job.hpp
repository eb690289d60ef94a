// A document of RLinf as a job of ours: its components are roles, its processes sit where the
// document puts them.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/placement/plan.hpp"
#include "scenarios/language/placement/placement_document.hpp"

namespace orrery::scenarios {

/// Whether a document places components as RLinf's do, and no jobs of ours.
bool is_rlinf_document(const PlacementDocument& document);

/// What the document does not say.
struct RlinfJobWords {
  std::string name;     ///< Of the job; a DNS label.
  std::string command;  ///< Of every process, under a shell where it is more than words and spaces;
                        ///< empty: none. Which process it is, it finds in GROUP_NAME and RANK.
  std::string duration = "1h";  ///< In a scenario: how long the job runs.
};

/// The job name of a file: its name without folders and ending, as a DNS label.
std::string job_name_of_file(const std::string& path);

/// The text of a job file. Each component is a role of the same name, with '-' for '_', of RLinf's
/// family, placed on the same devices; components on the same devices take turns. The processor
/// and the memory, which RLinf does not count, are not asked for.
///
/// Errors, all at once: a component that no text of ours can place, such as one on two kinds of
/// hardware.
Result<std::string> job_of_plan(const PlacementDocument& document,
                                const placement::Plan& plan,
                                const RlinfJobWords& words);

/// The text of a scenario: the document's nodes, and that job at its begin.
Result<std::string> scenario_of_plan(const PlacementDocument& document,
                                     const placement::Plan& plan,
                                     const RlinfJobWords& words);

}  // namespace orrery::scenarios
