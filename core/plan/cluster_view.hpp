// What a policy sees: an immutable picture of jobs and capacity at one instant.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/free_index.hpp"
#include "core/job/profiling.hpp"
#include "core/job/row.hpp"
#include "core/job/spec.hpp"
#include "core/job/wait_queue.hpp"
#include "core/placer/placer.hpp"
#include "core/record/plan.hpp"

namespace orrery {

class State;

/// One job as a policy sees it.
struct JobView {
  const JobRow& row;
  const JobSpec& spec;
  std::span<const NodeCount>
      nodes;  ///< Elastic replicas per node, ascending; empty while it waits.
};

/// The immutable view. Built over the controller's live tables (inline planner) or over a copy of
/// them (planner on another thread); a policy cannot tell.
class ClusterView {
 public:
  virtual ~ClusterView() = default;

  virtual Instant now() const = 0;

  /// Jobs that wait and could be granted: Pending, feasible. Priority first, then age.
  virtual const WaitQueue& waiting() const = 0;

  /// Jobs that hold an allocation, by id.
  virtual std::span<const JobId> holding() const = 0;

  /// A live job; must be in `waiting` or `holding`, or be checked with `is_live`.
  virtual JobView job(JobId id) const = 0;

  /// Appends how many replicas of a role the job has per node, ascending by node.
  virtual void append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const = 0;

  /// The hot row alone: cheaper than `job`.
  virtual const JobRow& row(JobId id) const = 0;

  /// What the job's workers have measured; samples of earlier generations may be among them.
  virtual std::span<const ProfilingSeries> profilings(JobId) const { return {}; }

  /// Whether the job exists and is neither finished nor retired.
  virtual bool is_live(JobId id) const = 0;

  /// Free capacity; leases that are being released count as free.
  virtual const FreeIndex& capacity() const = 0;

  /// Devices of all usable nodes, free or not.
  virtual std::int64_t devices_usable() const = 0;

  /// Whether quotas let this job hold `devices` in all.
  virtual bool quota_allows(JobId id, std::int32_t devices) const = 0;

  /// Whether `quota_allows` says the same of all jobs that have the same quotas and hold as much.
  /// False under queues, which count users and other resources than devices too.
  virtual bool quotas_count_devices() const { return true; }

  /// How many replicas a role shall have: its minimum, or what a user asked for.
  virtual std::int32_t target(JobId id, RoleIndex role) const = 0;

  /// The cluster's id of a device model; one that no node has gets an id of its own, and no node
  /// fits.
  virtual DeviceModelId model_named(std::string_view name) const = 0;

  /// The placer that the allocator asks as well.
  virtual const Placer& placer() const;

  /// The request for so many replicas of `demand` for the job, to be made to `placer`.
  virtual PlacementRequest placement(JobId id, const Demand& demand, std::int32_t replicas) const;

  /// Whether it is said where workers of the job sit: `try_seats` tells where it fits, and plans
  /// need not name its nodes.
  virtual bool is_seated(JobId) const { return false; }

  /// As `try_start`, for a seated job.
  virtual bool try_seats(JobId, std::int32_t, CapacityTrial&, std::vector<NodeCount>&) const {
    return false;
  }

  /// One replica's demand with the model resolved. Devices that a role shares with another by
  /// taking turns are counted with that one only.
  Demand demand_of(const JobSpec& spec, RoleIndex role) const;

  /// The job that has some device together with this one, by a plan that put one beside the other;
  /// none: all its devices are its own.
  virtual JobId partner(JobId) const { return JobId::none(); }

  /// Jobs that were submitted, started, changed or ended since this planner's last view, in order,
  /// possibly repeated. Where `touched_complete` is false, anything may have changed.
  virtual std::span<const JobId> touched() const = 0;
  virtual bool touched_complete() const = 0;

  /// As `holding`, of the whole cluster where this view is a part of it.
  virtual std::span<const JobId> holding_anywhere() const { return holding(); }

  /// Of a view that is a part of another one: jobs outside of it that took capacity or gave it back
  /// since this planner's last view; where `touched_complete` is false, all that hold. Possibly
  /// repeated, and with jobs of this view among them.
  virtual std::span<const JobId> other_holders() const { return {}; }

  /// Whether the job is live, in this view or outside of it.
  virtual bool is_live_anywhere(JobId id) const { return is_live(id); }

  /// The state behind the view, to be handed to a Rehearsal (core/plan/rehearsal.hpp): policies
  /// know no State. Null where there is none.
  virtual const State* state() const { return nullptr; }
};

/// Places so many replicas of `demand` for the job on the trial, beside what was tried already; the
/// view's placer chooses the nodes. Appends them to `nodes` and takes the capacity, or changes
/// nothing and returns false.
bool place(const ClusterView& view,
           JobId id,
           const Demand& demand,
           std::int32_t replicas,
           CapacityTrial& trial,
           std::vector<NodeCount>& nodes);

/// The nodes that `place` would choose on a trial of `index`, which stays as it is. Appends them to
/// `nodes`, or changes nothing and returns false. `scratch` is anything before and after.
bool find_place(const ClusterView& view,
                JobId id,
                const Demand& demand,
                std::int32_t replicas,
                const FreeIndex& index,
                CapacityTrial& scratch,
                std::vector<NodeCount>& nodes);

/// Whether `replicas` of the elastic role, and the targets of all others, fit into the trial beside
/// what was tried already; takes the capacity if so. Node lists of the elastic role go to `nodes`
/// where it is not null.
bool try_start(const ClusterView& view,
               const JobView& job,
               std::int32_t replicas,
               CapacityTrial& trial,
               std::vector<NodeCount>* nodes = nullptr);

/// Gives back to the trial all that the job holds, of every role. Of a job that has a partner only
/// CPU and memory: its devices come free when both have gone.
void give_back(const ClusterView& view, const JobView& job, CapacityTrial& trial);

/// The part of `give_back` that is the elastic role's: what a job gives up for another size.
void give_back_elastic(const ClusterView& view, const JobView& job, CapacityTrial& trial);

/// The part of `give_back` that is the other roles'.
void give_back_others(const ClusterView& view, const JobView& job, CapacityTrial& trial);

/// Gives back to the trial the devices of a job and its partner, of whom neither stays.
void give_back_shared(const ClusterView& view, const JobView& job, CapacityTrial& trial);

/// Gives back to the trial all that any job of the cluster holds, of this view or not.
void give_back_all(const ClusterView& view, CapacityTrial& trial);

}  // namespace orrery
