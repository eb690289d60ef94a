// Rounds of FIFO between two computations of shares: they look at few jobs.
#include <algorithm>

#include "policies/changes.hpp"
#include "policies/gavel.hpp"

namespace orrery::policies {

void Gavel::find_sharers() {
  touched_.clear();
  sharers_ = accounts_.sharers();
  only_sharers_ = true;
}

/// Takes note of who may differ from the last view.
void Gavel::follow(const ClusterView& view) {
  only_sharers_ = only_sharers_ && view.touched_complete();
  if (!only_sharers_) return;
  touched_.insert(touched_.end(), view.touched().begin(), view.touched().end());
}

/// Keeps to `ids_` who may take part otherwise than in the last round, and tells the accounts of
/// who does. Of the others nothing has changed but the nodes, which are the same.
void Gavel::find_changes(const ClusterView& view) {
  ids_ = outside_;
  ids_.insert(ids_.end(), touched_.begin(), touched_.end());
  ids_.insert(ids_.end(), sharers_.begin(), sharers_.end());
  ids_.insert(ids_.end(), view.holding().begin(), view.holding().end());
  touched_.clear();
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
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
  Plan plan;
  find_changes(view);
  std::erase_if(sharers_, [&](JobId id) { return accounts_.is_new(id); });
  std::erase_if(ids_, [&](JobId id) {
    return takes_part(view, view.job(id)) &&
           !std::binary_search(sharers_.begin(), sharers_.end(), id);
  });
  outside_.clear();
  fill_in_all(view);
  place(view, accounts_.choose(jobs_, devices_, type_order()), plan);
  start_outside_rounds(view, plan);
  return plan;
}

}  // namespace orrery::policies
