// Worker groups of jobs that have virtual clusters, as they would sit on an empty cluster.
#pragma once

#include <string>
#include <vector>

#include "core/placement/plan.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::scenarios {

/// Forms the virtual clusters of a sound job beside what `plan` places of the same job, and
/// appends a component for each of its worker groups. Nothing else runs; all nodes but spares are
/// usable. Gives the reason where they cannot be formed, else an empty text.
std::string add_worker_groups(const Scenario& scenario,
                              const PlacedJob& job,
                              placement::Plan& plan);

}  // namespace orrery::scenarios
