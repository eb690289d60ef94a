// The environments that placed processes would start with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/placement/plan.hpp"
#include "core/workers/family_variables.hpp"

namespace orrery::cli {

/// Whose environments are asked for.
struct PlacedProcesses {
  std::string component;
  std::optional<std::int32_t> rank;  ///< None: all of the component.
};

/// Takes "actor" or "actor:2" apart.
PlacedProcesses placed_processes(std::string_view text);

/// What is printed, and what the authors of the document should know.
struct EnvironmentPage {
  std::string out;
  std::string remarks;  ///< One line each.
};

/// As text: "KEY=value" lines in the order of names; with all of a component, "# component:rank"
/// above those of each. As JSON: `{component: [{"rank", "variables": {name: value}, "notes"}]}`.
/// Refused: a component or a rank that the plan does not have.
Result<EnvironmentPage> placed_environments(const placement::Plan& plan,
                                            const placement::Inventory& inventory,
                                            const PlacedProcesses& processes,
                                            WorkerFamily family,
                                            bool as_json);

}  // namespace orrery::cli
