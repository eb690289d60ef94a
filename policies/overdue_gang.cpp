#include "policies/overdue_gang.hpp"

#include <algorithm>

#include "policies/rigid_size.hpp"

namespace orrery::policies {

void OverdueGang::clear() {
  ends_.clear();
  foreseen_.clear();
}

void OverdueGang::refresh(const ClusterView& view, JobId id, bool counts) {
  ends_.set(view, id, counts ? estimated_end(view.row(id)) : Instant::never());
}

void OverdueGang::begin(const ClusterView& view) {
  for (const JobId id : foreseen_) refresh(view, id, view.is_live(id));
  foreseen_.clear();
  gang_.reset();
  shadow_ = Instant::never();
  looked_beside_ = false;
}

void OverdueGang::foresee_start(const ClusterView& view,
                                JobId id,
                                const std::vector<NodeCount>& nodes) {
  const JobRow& row = view.row(id);
  if (row.estimate_source == EstimateSource::None) return;
  ends_.set(row, nodes, view.now() + row.estimate);
  foreseen_.push_back(id);
}

void OverdueGang::foresee_end(const ClusterView& view, JobId id) {
  ends_.set(view, id, Instant::never());
  foreseen_.push_back(id);
}

void OverdueGang::reserve(const ClusterView& view, const CapacityTrial& trial, JobId gang) {
  gang_ = gang;
  const std::optional<Instant> end = ends_.first_fit(view, trial.index(), view.job(gang));
  if (end) shadow_ = std::max(*end, view.now());
}

bool OverdueGang::start(const ClusterView& view,
                        const WaitEntry& entry,
                        CapacityTrial& trial,
                        std::vector<NodeCount>& nodes) {
  if (shadow_.is_never()) return false;
  const JobView job = view.job(entry.job);
  const bool is_short = entry.estimate > Duration::zero() && view.now() + entry.estimate <= shadow_;
  if (!is_short) return start_long(view, job, trial, nodes);
  return try_start(view, job, rigid_size(job), trial, &nodes);
}

// Until the shadow time a long job may use what is free now and not the gang's by then. What starts
// meanwhile ends by then, or can be made smaller, so it counts now only.
void OverdueGang::look_beside(const ClusterView& view, const CapacityTrial& trial) {
  if (!looked_beside_) {
    looked_beside_ = true;
    ends_.look_at(view, view.job(*gang_), shadow_);
    beside_.sync(trial.index(), ends_);
    seen_ = trial.mark();
  }
  for (const NodeId node : trial.touched().subspan(std::min(seen_, trial.mark())))
    beside_.reduce(node, trial.index().at(node));
  seen_ = trial.mark();
}

bool OverdueGang::start_long(const ClusterView& view,
                             const JobView& job,
                             CapacityTrial& trial,
                             std::vector<NodeCount>& nodes) {
  const JobRow& row = job.row;
  if (job.spec.roles.size() > 1 || view.is_seated(row.id)) return false;
  look_beside(view, trial);
  if (row.gang_room() > beside_.index().device_room() ||
      !find_place(view, row.id, row.demand, rigid_size(job), beside_.index(), scratch_, nodes))
    return false;
  for (const NodeCount& at : nodes) {
    trial.take(at.node, row.demand, at.replicas);
    beside_.take(at, row.demand);
  }
  return true;
}

}  // namespace orrery::policies
