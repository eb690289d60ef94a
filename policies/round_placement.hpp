// Places for the jobs that a round-based policy has chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "core/record/plan.hpp"
#include "policies/closed_nodes.hpp"

namespace orrery::policies {

/// Turns "these jobs run in this round" into a plan. A job that goes on keeps its nodes; the others
/// are placed beside them, the largest first. Where one of them does not fit in this way, all are
/// placed anew, the largest first and of equal ones those that hold devices first, where they were
/// if that is free; whichever way serves more devices counts. Where a job that waits finds no place
/// so and one of lower priority has one, all are placed anew by priority, if that serves a higher
/// priority more devices. Devices that stay free so are left with jobs that would have to give them
/// back.
///
/// Kept by a policy from plan to plan; holds no state of its own.
class RoundPlacement {
 public:
  /// `running`: jobs with replicas that they shall have, those that come first served first among
  /// equals; fixed jobs that hold devices keep them and need not be named.
  struct Wanted {
    JobId job;
    std::int32_t replicas = 0;
    DeviceModelId model = DeviceModelId::none();  ///< Its devices; none: as the job says.
    std::int32_t nodes = 0;  ///< Equal parts, each on one node; 0: wherever the placer puts them.
    std::int32_t least = 0;  ///< Replicas that will do where no more can be placed; 0: none.
  };

  Plan plan(const ClusterView& view, const std::vector<Wanted>& running);

  /// Adds those of these waiting jobs, to which the plan grants nothing, for whose minimum it
  /// leaves room on whatever devices; nobody gives way to them.
  void add_to(const ClusterView& view, const std::vector<JobId>& jobs, Plan& plan);

  /// Of those of the last plan that wait: who found a place, and who did not.
  struct Found {
    JobId job;
    DeviceModelId model;  ///< As in `Wanted`.
    bool place = false;
  };

  const std::vector<Found>& found() const { return found_; }

  /// Jobs of the last plan that run, with fewer replicas than wanted: those that they get.
  const std::vector<Wanted>& cut_short() const { return cut_short_; }

 private:
  /// One job that shall run, and where.
  struct Placed {
    Wanted wanted;
    bool holds = false;  ///< At the same size already.
    bool runs = false;
    std::vector<NodeCount> nodes;  ///< Of jobs that do not stay where they are.
    bool cut_short = false;        ///< `wanted` is less than it was.
  };

  struct Attempt {
    std::vector<Placed> jobs;
    std::vector<JobId> stopped;  ///< Jobs that hold devices and shall not run.
    std::int64_t served = 0;     ///< Thousandths of devices of jobs that run.
  };

  /// What comes first where all are placed anew.
  enum class Order : std::uint8_t { BySize, ByPriority };

  Attempt beside(const ClusterView& view, const std::vector<Wanted>& running);
  Attempt anew(const ClusterView& view, const std::vector<Wanted>& running, Order order);
  Attempt anew(const ClusterView& view,
               const std::vector<Wanted>& running,
               Order order,
               const std::set<JobId>& staying);
  static bool lower_ones_are_in_the_way(const ClusterView& view, const Attempt& attempt);
  static bool serves_first(const ClusterView& view, const Attempt& a, const Attempt& b);
  void take_back(const ClusterView& view, const std::vector<JobId>& jobs);
  bool try_plan(const ClusterView& view, const Plan& plan);
  void spare(const ClusterView& view, Attempt& attempt);
  bool goes_together(const ClusterView& view,
                     const Attempt& attempt,
                     const std::vector<JobId>& stopped);
  bool take_own(const ClusterView& view, JobId job);
  bool place_as_far(const ClusterView& view, Placed& job);
  static std::vector<JobId> losers(const ClusterView& view, const std::vector<Wanted>& running);

  CapacityTrial trial_;
  ClosedNodes closed_;
  std::vector<Found> found_;
  std::vector<Wanted> cut_short_;
};

}  // namespace orrery::policies
