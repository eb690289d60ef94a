#include "policies/fifo.hpp"

#include "policies/changes.hpp"

namespace orrery::policies {

Plan Fifo::allocate(const JobView&, const ClusterView& view) {
  // Jobs that wait in front of the new one go first; where one of them is stuck, so is the job.
  return optimize(view);
}

Plan Fifo::optimize(const ClusterView& view) {
  absorb_changes(
      view, [&] { lower_.clear(); }, [&](JobId id) { lower_.refresh(view, id); });
  Plan plan;
  gang_.begin(view);
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (gang_.start(entry.job, plan)) return true;
    const JobRow& row = view.row(entry.job);
    if (lower_.preempt_for(row, gang_, plan) == GangStarter::Outcome::Started) return true;
    return !gang_.quota_allows(entry.job, row.gang_devices());
  });
  gang_.finish(plan);
  return plan;
}

}  // namespace orrery::policies
