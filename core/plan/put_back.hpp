// The other way round than `give_back`.
#pragma once

#include "core/plan/cluster_view.hpp"

namespace orrery {

/// Takes from the trial what `give_back` gave, of every role; false, and nothing changed, where
/// some of it is gone.
bool put_back(const ClusterView& view, const JobView& job, CapacityTrial& trial);

}  // namespace orrery
