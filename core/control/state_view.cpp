#include "core/control/state_view.hpp"

#include <algorithm>

#include "core/membership/beside.hpp"
#include "core/membership/placing.hpp"
#include "core/membership/seat_trial.hpp"

namespace orrery {

void StateView::append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const {
  const JobState& job = counted().job(id);
  const std::vector<Worker>& members =
      job.after_drain == AfterDrain::Start ? job.next : job.workers;
  const std::size_t mark = out.size();
  for (const Worker& worker : members) {
    if (worker.role != role) continue;
    const auto same = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(mark),
                                   out.end(),
                                   [&](const NodeCount& n) { return n.node == worker.node; });
    if (same != out.end()) {
      ++same->replicas;
    } else {
      out.push_back({worker.node, 1});
    }
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(mark),
            out.end(),
            [](const NodeCount& a, const NodeCount& b) { return a.node < b.node; });
}

const Placer& StateView::placer() const { return placer_of(counted()); }

PlacementRequest StateView::placement(JobId id, const Demand& demand, std::int32_t replicas) const {
  return placement_of(counted(), state_.job(id), demand, replicas);
}

JobId StateView::partner(JobId id) const { return partner_of(counted(), state_.job(id)); }

bool StateView::try_seats(JobId id,
                          std::int32_t replicas,
                          CapacityTrial& trial,
                          std::vector<NodeCount>& elastic) const {
  return orrery::try_seats(counted(), state_.job(id), replicas, trial, elastic);
}

}  // namespace orrery
