// The jobs of pollux: which of them its search sizes, and how the others start.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "core/record/plan.hpp"
#include "policies/lower_priority.hpp"
#include "policies/overdue_gang.hpp"

namespace orrery::policies {

/// The live jobs by whether the search sizes them. Derived from the views: not saved.
///
/// Sized are preemptible jobs of one role with whole devices, without seats, whose bounds leave a
/// choice, or that hold another size than their bounds allow. All others are gangs: they start at
/// their rigid size in queue order, one that does not fit is passed over, and they keep what they
/// hold. A gang may push out preemptible gangs of lower priority.
class PolluxJobs {
 public:
  /// Follows the view; to be called with each view that the policy is shown.
  void absorb(const ClusterView& view);

  /// Sized jobs, whether they wait, hold devices or drain.
  const std::set<JobId>& sized() const { return sized_; }

  /// A gang and where it was tried.
  struct Start {
    JobId job;
    std::vector<NodeCount> nodes;
    bool passes = false;  ///< An overdue one, which keeps its place only if this one starts there.
  };

  /// What starts in one cycle beside the search.
  struct Gangs {
    std::vector<Start> starting;   ///< In queue order.
    std::vector<JobId> preempted;  ///< Gangs that give way to them.
    std::vector<JobId> kept;       ///< Sized jobs that wait, for whose minimum there is room.
    bool any_left = false;         ///< Gangs may wait that do not start.
    bool named_left = false;       ///< Some of these name a device model.
  };

  /// Whether a gang that does not fit has waited for too long.
  using IsOverdue = std::function<bool(const JobView&)>;

  /// The gangs that fit beside the minimum of the sized jobs before them in the queue, and may pass
  /// the first that is overdue. Where one that names a model does not, minima are tried again where
  /// jobs have them, and else off the models that gangs name. `trial` is anything before and after.
  /// `is_overdue`: null, and none is. `in_vain`: sized jobs that wait and are given nothing,
  /// ascending: none is kept for them.
  Gangs gangs_to_start(const ClusterView& view,
                       CapacityTrial& trial,
                       const IsOverdue& is_overdue = nullptr,
                       std::span<const JobId> in_vain = {});

  /// Starts these gangs, on what is free where that is enough for all of them, else where they were
  /// tried; leaves in the trial what the search may share.
  void start(const ClusterView& view, const Gangs& gangs, CapacityTrial& trial, Plan& plan) const;

  /// Starts these gangs alone: where the placer chooses seats itself, plans of the same cycle that
  /// name nodes would collide with it. Room comes from the last of `victims`; they wait for the
  /// next cycle.
  static void start_alone(const ClusterView& view,
                          const Gangs& gangs,
                          std::span<const JobId> victims,
                          CapacityTrial& trial,
                          Plan& plan);

  /// Whether a grant cannot name all nodes of the job.
  static bool is_placed_in_parts(const ClusterView& view, JobId id);

 private:
  /// Where the minima of sized jobs are thought to be.
  struct Minima {
    bool on_own = false;  ///< First where the job has them.
    /// These are tried next, one after the other; then whatever the placer chooses.
    std::vector<DeviceModelId> models;
  };

  Gangs try_gangs(const ClusterView& view,
                  CapacityTrial& trial,
                  const IsOverdue& is_overdue,
                  std::span<const JobId> in_vain,
                  const Minima& minima);
  Minima minima_off_named_models(const ClusterView& view) const;
  static bool place_minimum(const ClusterView& view,
                            const JobView& job,
                            const Minima& minima,
                            CapacityTrial& trial);
  std::vector<JobId> sized_holders(const ClusterView& view) const;
  bool push_out(const ClusterView& view,
                const JobView& job,
                std::span<const JobId> holders,
                CapacityTrial& trial,
                Gangs& gangs,
                std::vector<NodeCount>& nodes) const;

  std::set<JobId> sized_;
  LowerPriority lower_;  ///< Of all preemptible jobs.
  OverdueGang overdue_;
};

}  // namespace orrery::policies
