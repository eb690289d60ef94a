// Nodes for jobs whose sizes were chosen by count.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/gang_trial.hpp"
#include "policies/misfits.hpp"
#include "policies/priority_placement.hpp"

namespace orrery::policies {

/// Turns sizes into a plan that names nodes. What keeps its size keeps its nodes. What shrinks
/// keeps the first of them, and what grows stays where it is, unless fewer nodes hold all of it.
/// Big jobs are placed before small ones: where all sizes are a power of two of devices and nodes
/// have as many, each finds room in what the bigger ones left (the buddy rule of Gu et al.,
/// ElasticFlow, ASPLOS 2023). Where some job does not fit all the same, everything is placed anew,
/// if that makes room for all. Otherwise others give way to one that waits, if their priority is
/// lower or they have more than they must (`PriorityPlacement`), or it waits on; one that does not
/// find room to grow keeps what it has.
///
/// Jobs of several roles, and those that say their seats, are started and preempted but not moved;
/// at most one of several roles starts in a plan, for the places of two could be the same.
class SizedPlacer {
 public:
  /// `jobs`: those that may be changed or started, each once, in the order in which they were
  /// chosen, with sizes within their bounds.
  /// `misfits` is told which of those that wait found a place.
  Plan place(const ClusterView& view, std::vector<SizedJob> jobs, Misfits& misfits);

  /// Jobs of the last plan that run, with fewer replicas than chosen: those that they get.
  const std::vector<SizedJob>& cut_short() const { return cut_short_; }

 private:
  /// What has come of one job.
  struct Outcome {
    SizedJob job;
    std::vector<NodeCount> nodes;  ///< Empty: nothing, or what it has.
    bool keeps = false;            ///< It stays as it is.
    bool fits = true;
  };

  std::vector<Outcome> place_changed(const ClusterView& view, std::span<const SizedJob> jobs);
  std::vector<Outcome> place_all(const ClusterView& view, std::span<const SizedJob> jobs);
  std::vector<Outcome> place_all(const ClusterView& view,
                                 std::span<const SizedJob> jobs,
                                 const std::set<JobId>& staying);
  Outcome place_one(const ClusterView& view, const SizedJob& sized);
  bool take_back_own(const ClusterView& view, const JobView& job);
  bool may_move(const ClusterView& view, JobId id) const;
  static Plan plan(const ClusterView& view, std::span<const Outcome> outcomes);

  GangTrial trial_;
  PriorityPlacement by_priority_;
  std::vector<SizedJob> cut_short_;
};

}  // namespace orrery::policies
