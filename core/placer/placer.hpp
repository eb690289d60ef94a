// The placer: which nodes and devices a gang gets, and the bundles of virtual clusters. Pure: equal
// requests on equal trials and offers give equal places.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/random.hpp"
#include "core/cluster/demand_mix.hpp"
#include "core/cluster/free_index.hpp"
#include "core/cluster/ledger.hpp"
#include "core/cluster/node_count.hpp"
#include "core/cluster/node_devices.hpp"
#include "core/vcluster/form.hpp"

namespace orrery {

/// What is to be placed. All of it comes from the state, so that a policy on a view and the
/// allocator ask for the same.
struct PlacementRequest {
  Demand demand;                   ///< Of one replica.
  std::int32_t replicas = 1;       ///< Of the gang, at least 1.
  NodeId avoid;                    ///< A node that gets none; none: any may get some.
  std::uint64_t seed = 0;          ///< Of the run;
  JobId job;                       ///< with the job and
  Generation generation;           ///< its present membership the key of `stream`.
  const DemandMix* mix = nullptr;  ///< Of the live jobs; outlives the call. Null: not known.
  /// What the nodes have in all, where they stand, and what is on them before anything was tried;
  /// outlives the call. Null: not known.
  const Ledger* ledger = nullptr;

  /// Random numbers for this request: the same ones each time that it is asked for.
  Random stream() const;
};

/// A node that has room for one replica, with its devices one by one.
struct DeviceOffer {
  NodeId node;
  const NodeFree& free;
  const NodeDevices& devices;
};

/// Chooses nodes and devices. Holds no state. The settings name one, and with them the journal;
/// allocator, recovery and the policies' view ask that one.
class Placer {
 public:
  virtual ~Placer() = default;

  /// Versioned name, for example "best_fit/1".
  virtual std::string_view name() const = 0;

  /// Chooses nodes for all replicas of the request on what the trial has free. Appends them to
  /// `nodes`, in the order of ranks, and takes the capacity from the trial; false, and nothing
  /// changed, where they do not fit. No node stands twice among those appended.
  virtual bool place(const PlacementRequest& request,
                     CapacityTrial& trial,
                     std::vector<NodeCount>& nodes) const = 0;

  /// What is known of a place without a trial.
  enum class Found { Place, None, NeedsTrial };

  /// The nodes that `place` would choose on a trial of `index`, which stays as it is: Place, and
  /// they are appended to `nodes`; or None, where they do not fit. NeedsTrial, and nothing changed,
  /// by a placer that finds out only by trying, as the default does.
  virtual Found find(const PlacementRequest& request,
                     const FreeIndex& index,
                     std::vector<NodeCount>& nodes) const;

  /// Takes replicas of the request on one node from the trial, which has room for them, from such
  /// devices as `choose_devices` would choose. The default takes parts as FreeIndex::take does.
  virtual void take(const PlacementRequest& request,
                    CapacityTrial& trial,
                    const NodeCount& nodes) const;

  /// Chooses devices for one replica of the request: `demand.devices` of `whole`, or for a part of
  /// a device one that has so much left. None where the demand has no device.
  virtual DeviceSet choose_devices(const PlacementRequest& request,
                                   const DeviceOffer& offer) const = 0;

  /// Chooses nodes and devices for the bundles of all virtual clusters of a job, on what the offers
  /// have free: Formed, in rank order, or Waiting, without a reason. Strategies, segments and
  /// device models are the user's, and every placer keeps them; whether a placement exists does not
  /// depend on the placer. The default is vcluster::try_form.
  virtual vcluster::Forming form(std::span<const vcluster::NodeOffer> offers,
                                 std::span<const vcluster::BundleRequest> requests) const;

 protected:
  /// `place` by what `find` says, for a placer that needs no trial.
  bool take_found(const PlacementRequest& request,
                  CapacityTrial& trial,
                  std::vector<NodeCount>& nodes) const;
};

/// The nodes that the placer would choose on a trial of `index`: by `find`, else by a try on
/// `scratch`, which is anything before and after. Appends them to `nodes`; false, and nothing
/// appended, where they do not fit.
bool find_place(const Placer& placer,
                const PlacementRequest& request,
                const FreeIndex& index,
                CapacityTrial& scratch,
                std::vector<NodeCount>& nodes);

}  // namespace orrery
