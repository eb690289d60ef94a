// The environment of a process of a placement, before anything is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/placement/plan.hpp"
#include "core/workers/worker_environment.hpp"
#include "core/workers/worker_group.hpp"

namespace orrery::workers {

/// What a placement does not say.
struct PlanSurroundings {
  std::string job = "default.placed";
  std::optional<Restarts> restarts;  ///< Nothing: not known.
  std::vector<std::string>
      addresses;               ///< By cluster node rank; where one is missing, "node-<rank>".
  EnvironmentSources sources;  ///< `node_group` comes before what the inventory declares for the
                               ///< process' node.
  std::optional<WorkerGroupLayout> worker_group;  ///< What the component is on a virtual cluster,
                                                  ///< worker by process; nothing: it is on none.
};

/// The processes of a component by rank, as their environments are computed from them. Their job
/// are all processes of the plan, one component after the other; their role is the component. Each
/// sees what the plan shows it (placement::visible_devices); of a worker group its own devices, and
/// a leader those of all that are tied to it. Each has the port that it would be
/// given as the first job on nodes whose ports are all free, and rank 0 of each listens there.
///
/// Refused, code NotFound: a component that the plan does not have.
Result<std::vector<Membership>> memberships_of(const placement::Inventory& inventory,
                                               const placement::Plan& plan,
                                               std::string_view component,
                                               const PlanSurroundings& surroundings = {});

/// The whole environment of each of them, with what its node group declares for its node.
Result<std::vector<WorkerEnvironment>> environments_of(const placement::Inventory& inventory,
                                                       const placement::Plan& plan,
                                                       std::string_view component,
                                                       WorkerFamily family = WorkerFamily::RLinf,
                                                       const PlanSurroundings& surroundings = {});

/// That of one process. Refused, code NotFound, also for a rank that the component does not have.
/// Takes as long as all places of the plan: for many processes use `environments_of`.
Result<WorkerEnvironment> environment_of(const placement::Inventory& inventory,
                                         const placement::Plan& plan,
                                         std::string_view component,
                                         std::int32_t rank,
                                         WorkerFamily family = WorkerFamily::RLinf,
                                         const PlanSurroundings& surroundings = {});

}  // namespace orrery::workers
