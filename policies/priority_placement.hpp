// Places for chosen jobs where some that wait found none beside the others.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "core/record/plan.hpp"
#include "policies/gang_trial.hpp"

namespace orrery::policies {

/// A job and the replicas that it shall have.
struct SizedJob {
  JobId id;
  std::int32_t replicas = 0;  ///< 0: none, it gives back what it holds.
  std::int32_t least = 0;     ///< That it must have before others get more than they must.
};

/// For policies that choose by count who runs and then look for nodes. Who holds devices is in the
/// way of who waits, also where its priority is lower, or where it has more than it must have. So
/// all are placed anew: by priority, and among equals first who holds devices, where it is, then
/// the largest, each with the least that it must have. What nobody took so goes to those that shall
/// have more, first to those that have it.
///
/// Jobs of several roles stay or go, since their other roles cannot be moved, and at most one of
/// them starts; jobs that say their seats, have parts of devices or are on nodes that take nothing
/// new stay.
///
/// Kept by a policy from plan to plan; holds no state of its own.
class PriorityPlacement {
 public:
  /// What has come of it.
  struct Placed {
    JobId id;
    std::int32_t replicas = 0;  ///< 0: it does not run.
    std::vector<NodeCount> nodes;
    bool keeps = false;  ///< It stays as it is.
  };

  /// Whether anything can come of it: of the chosen jobs, `unplaced` have found no place, and some
  /// have a lower priority or more than they must have.
  static bool may_help(const ClusterView& view,
                       std::span<const SizedJob> jobs,
                       const std::set<JobId>& unplaced);

  /// `jobs`: all that may be changed or started, each once, in the order in which they were chosen.
  /// Whether that serves who comes first better than leaving `unplaced` without a place: of the
  /// first job in the order of priorities that only one way serves, it is this one.
  bool place(const ClusterView& view,
             std::span<const SizedJob> jobs,
             const std::set<JobId>& unplaced);

  /// After `place`, in the order of `jobs`.
  std::span<const Placed> placed() const { return placed_; }

  /// The same as a plan.
  Plan plan(const ClusterView& view) const;

 private:
  void place_least(const ClusterView& view, const SizedJob& chosen, Placed& job);
  void enlarge(const ClusterView& view, std::int32_t replicas, Placed& job);

  GangTrial trial_;
  std::vector<Placed> placed_;
  bool roles_start_ = false;
};

}  // namespace orrery::policies
