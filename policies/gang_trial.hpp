// Gangs tried out on a copy of the free capacity, and jobs in order, for Tiresias and Optimus.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster/free_index.hpp"
#include "core/plan/cluster_view.hpp"
#include "core/record/plan.hpp"
#include "policies/closed_nodes.hpp"

namespace orrery::policies {

/// Tries placements out on a copy of the free capacity. Kept by a policy from plan to plan.
class GangTrial {
 public:
  /// Starts anew from the view's free capacity.
  void begin(const ClusterView& view);

  /// Counts all that the job holds as free.
  void give_back(const ClusterView& view, const JobView& job);

  /// Counts as free what the job gives up for another size: the replicas of its elastic role, since
  /// its other roles stay on their nodes. A job that names its seats gives up all.
  void give_back_elastic(const ClusterView& view, const JobView& job);

  /// Counts as free what `give_back_elastic` left: the job goes after all.
  void give_back_others(const ClusterView& view, const JobView& job);

  /// To be called when all was given back that is, before anything is taken: see `parts_given.hpp`.
  void settle_parts(const ClusterView& view);

  /// Places `replicas` of the job's elastic role where the placer in charge puts them, and appends
  /// the nodes to `nodes` in the order of taking, which is the order of ranks. Places the other
  /// roles at their target too, unless the job holds devices and so has them placed. False, and
  /// nothing changed, where they do not fit.
  bool place(const ClusterView& view,
             const JobView& job,
             std::int32_t replicas,
             std::vector<NodeCount>& nodes);

  /// As the functions below.
  bool take_there(const Demand& demand, std::span<const NodeCount> nodes);
  bool keep_held(const JobView& job);

  /// Gives back what `take_there` or `place` took for replicas of whole devices.
  void give_there(const Demand& demand, std::span<const NodeCount> nodes);

  /// Takes so many replicas for a job on the nodes that it has: the first of them, or all and what
  /// is missing elsewhere. Sets `nodes`, or empties it, changes nothing and returns false.
  bool place_on_own(const ClusterView& view,
                    const JobView& job,
                    std::int32_t replicas,
                    std::vector<NodeCount>& nodes);

  /// As the function of this name in `core/plan/put_back.hpp`.
  bool put_back(const ClusterView& view, const JobView& job);

  /// Remembers what was tried so far, for `undo`.
  std::size_t mark() const { return trial_.mark(); }

  /// Undoes exactly what was tried since `mark` was called.
  void undo(std::size_t mark) { trial_.undo(mark); }

 private:
  CapacityTrial trial_;
  std::vector<JobId> given_;  ///< That gave back, since `begin`.
};

/// Takes exactly these replicas; false, and nothing changed, where they do not fit.
bool take_there(const Demand& demand, std::span<const NodeCount> nodes, CapacityTrial& trial);

/// Takes what the job holds, also where nodes take nothing new; false, and nothing changed, where
/// some of it is gone.
bool keep_held(const JobView& job, CapacityTrial& trial);

/// Takes what `give_back` gave, of every role; false, and nothing changed, where some of it is
/// gone.
bool put_back(const ClusterView& view, const JobView& job, CapacityTrial& trial);

/// Whether the job's turn is before the other's: the higher priority first, then the older one.
bool comes_before(const JobRow& a, const JobRow& b);

/// Jobs that hold devices, in that order.
std::vector<JobId> holders_in_order(const ClusterView& view);

/// Jobs that a policy may grant or change: those that wait and those that hold devices, the higher
/// priority first, then the older one.
std::vector<JobId> jobs_in_order(const ClusterView& view);

/// Appends a grant of `replicas` on `nodes` (in order of ranks).
void grant_on(JobId job, std::int32_t replicas, const std::vector<NodeCount>& nodes, Plan& plan);

/// Whether the job already has exactly these nodes, in whatever order.
bool holds_exactly(const JobView& job, std::vector<NodeCount> nodes);

/// Whether the job has a part of a device on one of these nodes already. A plan names nodes and no
/// devices, so that what stays on a node stays on its device, wherever else a trial has room for
/// it.
bool keeps_parts(const JobView& job, std::span<const NodeCount> nodes);

/// Devices of all usable nodes in thousandths, less what jobs that may not be changed hold of them.
std::int64_t thousandths_to_share(const ClusterView& view, const ClosedNodes& closed);

/// The first `replicas` of those on these nodes.
std::vector<NodeCount> first_replicas(std::span<const NodeCount> nodes, std::int32_t replicas);

}  // namespace orrery::policies
