// FIFO looks at few jobs: those with a share between two computations of shares, and those that
// have changed where shares are computed.
#include <algorithm>

#include "policies/changes.hpp"
#include "policies/gavel.hpp"

namespace orrery::policies {
namespace {

void sort_once_each(std::vector<JobId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

/// Whether what is read of a job that waits stays true until the job or the nodes change: neither
/// the time nor other jobs have a part in it.
bool Gavel::may_keep_jobs(const ClusterView& view) const {
  return options_.rule == SharingRule::Fifo && options_.epochs == nullptr && !any_quota_ &&
         view.quotas_count_devices();
}

/// As read_all_jobs, where `jobs_` and `outside_` are those of an earlier round.
void Gavel::read_changed_jobs(const ClusterView& view) {
  stale_.insert(stale_.end(), outside_.begin(), outside_.end());
  stale_.insert(stale_.end(), view.holding().begin(), view.holding().end());
  sort_once_each(stale_);
  outside_.clear();
  known_at_ = known_.end();
  std::vector<RoundJob> jobs;
  jobs.reserve(jobs_.size() + stale_.size());
  auto old = jobs_.begin();
  const auto keep_until = [&](auto is_before) {
    while (old != jobs_.end() && is_before(*old)) jobs.push_back(std::move(*old++));
  };
  for (const JobId id : stale_) {
    keep_until([&](const RoundJob& job) { return job.id < id; });
    RoundJob now;
    if (old != jobs_.end() && old->id == id) now = std::move(*old++);
    if (!view.is_live(id)) {
      known_.erase(id);
      known_at_ = known_.end();
      continue;
    }
    const JobView job = view.job(id);
    if (!job.row.holds && !waits(job.row)) continue;
    if (takes_part(view, job)) {
      fill_in(view, job, now);
      jobs.push_back(std::move(now));
    } else if (waits(job.row)) {
      outside_.push_back(id);
    }
  }
  keep_until([](const RoundJob&) { return true; });
  jobs_ = std::move(jobs);
  ids_.clear();
  for (const RoundJob& job : jobs_) ids_.push_back(job.id);
}

void Gavel::find_sharers() {
  touched_.clear();
  sharers_ = accounts_.sharers();
  only_sharers_ = true;
}

/// Takes note of who may differ from the last view.
void Gavel::follow(const ClusterView& view) {
  only_sharers_ = only_sharers_ && view.touched_complete();
  has_read_ = has_read_ && view.touched_complete();
  if (only_sharers_) touched_.insert(touched_.end(), view.touched().begin(), view.touched().end());
  if (has_read_) stale_.insert(stale_.end(), view.touched().begin(), view.touched().end());
}

/// Keeps to `ids_` who may take part otherwise than in the last round, and tells the accounts of
/// who does. Of the others nothing has changed but the nodes, which are the same.
void Gavel::find_changes(const ClusterView& view) {
  ids_ = outside_;
  ids_.insert(ids_.end(), touched_.begin(), touched_.end());
  ids_.insert(ids_.end(), sharers_.begin(), sharers_.end());
  ids_.insert(ids_.end(), view.holding().begin(), view.holding().end());
  touched_.clear();
  sort_once_each(ids_);
  const auto is_there = [&](JobId id) {
    return view.is_live(id) && (view.row(id).holds || waits(view.row(id)));
  };
  const auto has_left = [&](JobId id) {
    return accounts_.has(id) && !(is_there(id) && takes_part(view, view.job(id)));
  };
  for (const JobId id : ids_)
    if (has_left(id)) accounts_.leave(id);
  std::erase_if(ids_, [&](JobId id) { return !is_there(id); });
  const auto has_come = [&](JobId id) {
    return !accounts_.has(id) && takes_part(view, view.job(id));
  };
  if (std::any_of(ids_.begin(), ids_.end(), has_come)) accounts_.want_shares();
}

/// Under FIFO a job without a share runs in no round, and shares stay until `reset`: a round then
/// is of those with a share alone, who are few where the queue is long.
Plan Gavel::repeat_round(const ClusterView& view) {
  sort_once_each(stale_);  // Of many rounds they would be many.
  jobs_.swap(aside_);
  find_changes(view);
  std::erase_if(sharers_, [&](JobId id) { return accounts_.is_new(id); });
  std::erase_if(ids_, [&](JobId id) {
    return takes_part(view, view.job(id)) &&
           !std::binary_search(sharers_.begin(), sharers_.end(), id);
  });
  outside_.clear();
  fill_in_all(view);
  Plan plan = begin_leases(view, choose_and_place(view));
  start_outside_rounds(view, plan);
  start_across_types(view, plan);
  jobs_.swap(aside_);
  return plan;
}

}  // namespace orrery::policies
