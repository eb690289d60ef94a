// What comes free of devices of which jobs have parts.
#pragma once

#include <initializer_list>
#include <span>

#include "core/cluster/free_index.hpp"
#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// To be called when a trial was given back what the jobs hold, before anything is taken from it. A
/// trial does not know on which device a part was, and takes it to have been the emptiest that can
/// have held it, so that it may show a whole device where two parts on two devices are left. This
/// takes from it what the ledger does not bear out, where the view has a ledger. `given`:
/// ascending.
void settle_parts(const ClusterView& view, std::span<const JobId> given, CapacityTrial& trial);

/// The same of jobs in any order, all of these together, also where something was taken from the
/// trial before: that stays taken by count, so that of what is left a part may still be taken for
/// a whole device, which the next call knows better.
void settle_parts_of(const ClusterView& view,
                     std::initializer_list<std::span<const JobId>> given,
                     CapacityTrial& trial);

/// Whether one of the jobs asks for a part of a device.
bool have_parts(const ClusterView& view, std::span<const JobId> jobs);

}  // namespace orrery::policies
