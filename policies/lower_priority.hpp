// Which holders a job of higher priority may push out.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/plan/cluster_view.hpp"
#include "policies/changes.hpp"
#include "policies/gang_starter.hpp"

namespace orrery::policies {

/// The preemptible jobs that hold devices: lowest priority first, the youngest first among equals.
/// Derived from the views; a policy does not save it.
class LowerPriority {
 public:
  void clear() {
    jobs_.clear();
    priorities_.clear();
  }

  /// Looks the job up in the view again.
  void refresh(const ClusterView& view, JobId id) {
    const auto known = priorities_.find(id);
    if (view.is_live(id) && may_be_taken_from(view.row(id))) {
      if (known != priorities_.end()) return;  // A job keeps its priority.
      priorities_.emplace(id, view.row(id).priority);
      jobs_.insert({view.row(id).priority, id});
    } else if (known != priorities_.end()) {
      jobs_.erase({known->second, id});
      priorities_.erase(known);
    }
  }

  /// Whether any job may give way to one of this priority.
  bool any_below(std::int32_t priority) const {
    return !jobs_.empty() && jobs_.begin()->priority < priority;
  }

  /// Calls `visit(JobId)` for those below this priority, the first to give way first, until it
  /// answers false.
  template <class Visit>
  void for_each_below(std::int32_t priority, Visit&& visit) const {
    for (const Key& key : jobs_)
      if (key.priority >= priority || !visit(key.job)) return;
  }

  /// Starts the waiting job on what it may push out.
  GangStarter::Outcome preempt_for(const JobRow& row, GangStarter& gang, Plan& plan) const {
    if (!any_below(row.priority)) return GangStarter::Outcome::NoVictims;
    const auto victims = [&](auto&& visit) { for_each_below(row.priority, visit); };
    return gang.start_over(row.id, victims, plan);
  }

 private:
  struct Key {
    std::int32_t priority;
    JobId job;

    friend bool operator<(const Key& a, const Key& b) {
      return a.priority != b.priority ? a.priority < b.priority : b.job < a.job;
    }
  };

  std::set<Key> jobs_;
  std::map<JobId, std::int32_t> priorities_;
};

}  // namespace orrery::policies
