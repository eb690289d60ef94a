// Whether the devices of one model hold a job.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/gang_shape.hpp"

namespace orrery::policies {

/// For policies that give a job devices of one model ("kind") only: tells which jobs no kind holds
/// by itself, even where nothing else runs, so that they are placed across kinds instead of waiting
/// for ever. Kept by a policy from plan to plan; holds no state of its own.
class EmptyKinds {
 public:
  /// Starts anew from the view, which must outlive the questions. Costs nothing until one is asked.
  void begin(const ClusterView& view);

  /// Whether the usable nodes, without jobs, are as at the last call: all kinds hold what they held
  /// then. O(nodes).
  bool are_as_before();

  /// Whether the usable nodes of some model hold so many replicas beside the job's other roles, all
  /// of whose devices are of that model as well. A seated job of several roles is judged by its
  /// devices alone. O(nodes) for each shape of job in a view.
  bool one_holds(const JobView& job, std::int32_t replicas) {
    return !that_hold(job, replicas).empty();
  }

  /// Whether those of this model do; likewise.
  bool holds(const JobView& job, std::int32_t replicas, DeviceModelId model);

 private:
  const std::vector<DeviceModelId>& that_hold(const JobView& job, std::int32_t replicas);
  std::vector<DeviceModelId> look(const JobView& job, std::int32_t replicas);
  bool holds_all_roles(const JobView& job, std::int32_t replicas, DeviceModelId model);
  void clear_cluster();

  const ClusterView* view_ = nullptr;
  bool cleared_ = false;  ///< `trial_` is the cluster without jobs.
  CapacityTrial trial_;
  std::vector<NodeFree> before_;  ///< Of `are_as_before`; those of no use are alike.
  std::map<GangShape, std::vector<DeviceModelId>> known_;  ///< The models, ascending.
};

}  // namespace orrery::policies
