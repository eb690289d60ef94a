#include "policies/srtf.hpp"

#include <algorithm>

#include "policies/changes.hpp"

namespace orrery::policies {
namespace {

// What is left of the estimate, counted as time at the gang's minimum of devices.
Duration estimate_left(const JobRow& row) {
  if (row.estimate_source == EstimateSource::None || row.estimate.is_forever())
    return Duration::forever();
  const std::int64_t devices = std::max(1, row.gang_devices());
  const Duration served{row.attained_us / devices * 1000};
  return std::max(Duration::zero(), row.estimate - served);
}

bool has_report(const JobRow& row) {
  return row.progress.source != EstimateSource::None && !row.progress.remaining.is_forever();
}

Duration remaining_of_waiting(const JobRow& row) {
  return has_report(row) ? std::max(Duration::zero(), row.progress.remaining) : estimate_left(row);
}

// For one that holds: the instant at which its remaining time is used up. A report from before the
// present allocation says what was left when the job stopped.
Instant reported_end(const JobRow& row) {
  if (has_report(row))
    return std::max(row.progress.as_of, row.allocated_at) + row.progress.remaining;
  return row.attained_as_of + estimate_left(row);
}

}  // namespace

void Srtf::refresh(const ClusterView& view, JobId id) {
  if (known_.size() <= id.index()) known_.resize(id.index() + 1);
  Known& known = known_[id.index()];
  Known now;
  if (view.is_live(id)) {
    const JobRow& row = view.row(id);
    if (may_be_taken_from(row)) now = {true, {row.priority, reported_end(row), id}};
    if (waits(row)) {
      waiting_.put(view, id, remaining_of_waiting(row).ns);
    } else {
      waiting_.remove(id);
    }
  } else {
    waiting_.remove(id);
  }
  if (known.runs == now.runs && known.runner.end == now.runner.end) return;
  if (known.runs) runners_.erase(known.runner);
  if (now.runs) runners_.insert(now.runner);
  known = now;
}

void Srtf::absorb(const ClusterView& view) {
  const auto reset = [&] {
    waiting_.clear();
    runners_.clear();
    known_.clear();
  };
  absorb_changes(view, reset, [&](JobId id) { refresh(view, id); });
}

GangStarter::Outcome Srtf::start_over(const ClusterView& view, const OrderKey& place, Plan& plan) {
  const Instant own_end = view.now() + Duration{place.key};
  const auto victims = [&](auto&& visit) {
    for (const Runner& runner : runners_) {
      const bool gives_way = runner.priority < place.priority ||
                             (runner.priority == place.priority && runner.end > own_end);
      if (!gives_way || !visit(runner.job)) return;
    }
  };
  return gang_.start_over(place.job, victims, plan);
}

Plan Srtf::allocate(const JobView& job, const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  const OrderKey place{job.row.priority, remaining_of_waiting(job.row).ns, job.row.id};
  if (!gang_.start(job.row.id, plan)) start_over(view, place, plan);
  gang_.finish(plan);
  return plan;
}

Plan Srtf::optimize(const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  waiting_.start_all(
      gang_, plan, [&](const OrderKey& place) { return start_over(view, place, plan); });
  gang_.finish(plan);
  return plan;
}

}  // namespace orrery::policies
