#include "policies/sjf.hpp"

#include "policies/changes.hpp"

namespace orrery::policies {
namespace {

Duration stated_run_time(const JobRow& row) {
  return row.estimate_source == EstimateSource::None ? Duration::forever() : row.estimate;
}

}  // namespace

void Sjf::refresh(const ClusterView& view, JobId id) {
  lower_.refresh(view, id);
  if (view.is_live(id) && waits(view.row(id))) {
    waiting_.put(view, id, stated_run_time(view.row(id)).ns);
  } else {
    waiting_.remove(id);
  }
}

void Sjf::absorb(const ClusterView& view) {
  const auto reset = [&] {
    waiting_.clear();
    lower_.clear();
  };
  absorb_changes(view, reset, [&](JobId id) { refresh(view, id); });
}

Plan Sjf::allocate(const JobView& job, const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  if (!gang_.start(job.row.id, plan)) lower_.preempt_for(job.row, gang_, plan);
  gang_.finish(plan);
  return plan;
}

Plan Sjf::optimize(const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  waiting_.start_all(gang_, plan, [&](const OrderKey& place) {
    return lower_.preempt_for(view.row(place.job), gang_, plan);
  });
  gang_.finish(plan);
  return plan;
}

}  // namespace orrery::policies
