// The environments that placed processes would start with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/job/job_enums.hpp"
#include "core/placement/plan.hpp"
#include "core/workers/worker_group.hpp"

namespace orrery::cli {

/// Whose environments are asked for.
struct PlacedProcesses {
  std::string component;
  std::optional<std::int32_t> rank;  ///< None: all of the component.
};

/// Takes "actor" or "actor:2" apart.
PlacedProcesses placed_processes(std::string_view text);

/// A component as its processes know it.
struct PlacedRole {
  std::string job;                                 ///< Its full name.
  std::string role;                                ///< Its name in the job, and in `plan`.
  WorkerFamily family;                             ///< Of which its processes find the variables.
  placement::Plan plan;                            ///< Of the job alone.
  std::optional<std::int32_t> backoff_limit = {};  ///< Nothing: a placement without a job.
  std::optional<workers::WorkerGroupLayout> worker_group = {};  ///< Where it is on a virtual
                                                                ///< cluster.
};

/// What is printed, and what the authors of the document should know.
struct EnvironmentPage {
  std::string out;
  std::string remarks;  ///< One line each.
};

/// As text: "KEY=value" lines in the order of names; with all of a component, "# component:rank"
/// above those of each. As JSON: `{component: [{"rank", "variables": {name: value}, "notes"}]}`.
/// Refused: a component or a rank that the plan does not have.
Result<EnvironmentPage> placed_environments(const PlacedRole& placed,
                                            const placement::Inventory& inventory,
                                            const PlacedProcesses& processes,
                                            bool as_json);

}  // namespace orrery::cli
