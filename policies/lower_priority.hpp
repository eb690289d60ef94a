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
    holders_.clear();
    count_.clear();
    jobs_.clear();
    in_order_ = false;
  }

  /// Looks the job up in the view again.
  void refresh(const ClusterView& view, JobId id) {
    if (view.is_live(id) && may_be_taken_from(view.row(id))) {
      const std::int32_t priority = view.row(id).priority;
      if (!holders_.emplace(id.value, priority).second) return;  // A job keeps its priority.
      ++count_[priority];
      if (in_order_) jobs_.insert({priority, id});
    } else if (const auto holder = holders_.find(id.value); holder != holders_.end()) {
      const auto count = count_.find(holder->second);
      if (--count->second == 0) count_.erase(count);
      if (in_order_) jobs_.erase({holder->second, id});
      holders_.erase(holder);
    }
  }

  /// Whether any job may give way to one of this priority.
  bool any_below(std::int32_t priority) const {
    return !count_.empty() && count_.begin()->first < priority;
  }

  /// Calls `visit(JobId)` for those below this priority, the first to give way first, until it
  /// answers false.
  template <class Visit>
  void for_each_below(std::int32_t priority, Visit&& visit) const {
    if (!any_below(priority)) return;
    put_in_order();
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
    std::int32_t priority = 0;
    JobId job;

    friend bool operator<(const Key& a, const Key& b) {
      return a.priority != b.priority ? a.priority < b.priority : b.job < a.job;
    }
  };

  // Where all jobs have one priority, which is nearly everywhere, nobody ever asks for the order.
  void put_in_order() const {
    if (in_order_) return;
    in_order_ = true;
    for (const auto& [job, priority] : holders_) jobs_.insert({priority, JobId{job}});
  }

  std::map<std::uint32_t, std::int32_t> holders_;  ///< Their priorities, by job.
  std::map<std::int32_t, std::int64_t> count_;     ///< Of holders, by priority; none is 0.
  mutable std::set<Key> jobs_;     ///< The same, once somebody has asked for the order.
  mutable bool in_order_ = false;  ///< Whether somebody has.
};

}  // namespace orrery::policies
