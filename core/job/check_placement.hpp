// What can be wrong with where a specification wants its workers.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Most worker groups that may share a bundle.
inline constexpr std::int32_t kWorkerGroupsMax = 1000;

/// Everything wrong with one virtual cluster by itself; `subject` names it. Empty where it is
/// sound, and then it can be formed (core/vcluster/form.hpp) or is told why not.
Errors check_virtual_cluster(const VirtualClusterSpec& cluster, const std::string& subject);

/// Appends everything wrong with the virtual clusters, worker groups, placements and turns of a
/// job. Part of `check_spec`; whether the texts of placements are sound is not looked at.
void check_placement(const JobSpec& spec, Errors& errors);

}  // namespace orrery
