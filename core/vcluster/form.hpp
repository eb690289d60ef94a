// Forms the virtual clusters of a job: chooses nodes and devices for all their bundles, or says in
// words why that cannot be done now or ever. Pure: the same offers give the same places.
//
// A bundle takes `devices_per_bundle` whole devices, and `cpu_per_bundle` and `memory_per_bundle`
// once for each of the `max_worker_groups` that may share it.
//
// Logical nodes are the entries of `bundles_per_node` above 0, numbered from 0 without gaps.
//
// * Not unified: all bundles of one logical node lie on one node, always. `pack` puts logical nodes
//   on as few nodes as possible, `strict_pack` all on one, `spread` on as many as possible (sharing
//   only where too few are free), `strict_spread` each on a node of its own.
// * Unified: the same four words about single bundles; `spread` keeps the nodes even.
// * Segments: the bundles of each run of `segment_size` logical nodes lie in one NVLink domain or
//   rack; a node of which none is declared is never chosen. Several segments may lie in one domain.
// * All devices of a virtual cluster are of one model. Where none is named, the model that has the
//   least free and suffices is taken.
//
// Where all logical nodes are alike, as they are in practice, an answer is exact: bundles are
// formed whenever that is possible at all, for several virtual clusters in one of the orders tried.
// Otherwise a search with a bounded number of steps follows; where it ends without an answer, the
// outcome is Waiting, never Infeasible.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/placement_spec.hpp"

namespace orrery::vcluster {

/// What one node has and could give now.
struct NodeOffer {
  NodeId node;
  std::uint64_t free_devices = 0;  ///< Bit i: device i can be taken whole. Subset of all_devices.
  std::uint64_t all_devices = 0;   ///< Bit i: the node has device i.
  DeviceModelId model;             ///< None: the node has no device.
  MilliCpu cpu_free;
  MilliCpu cpu_total;
  Bytes memory_free;
  Bytes memory_total;
  std::int32_t rack = -1;           ///< Number in the cluster; -1: none declared.
  std::int32_t nvlink_domain = -1;  ///< Number in the cluster; -1: none declared.
  bool usable = true;               ///< Up, not cordoned. Otherwise it counts for Infeasible only.
};

/// One virtual cluster to be formed.
struct BundleRequest {
  const VirtualClusterSpec* spec = nullptr;  ///< Sound (check_virtual_cluster); outlives the call.
  DeviceModelId model;  ///< Of `spec->device_model`; none where that is empty: any, but one.
};

/// Where one bundle lies.
struct BundlePlace {
  NodeId node;
  std::uint64_t devices = 0;      ///< Bit i: device i of the node; `devices_per_bundle` of them.
  std::int32_t logical_node = 0;  ///< Unified: dense index of the node by first appearance.
  std::int32_t bundle = 0;        ///< Inside the logical node, from 0.

  friend bool operator==(const BundlePlace&, const BundlePlace&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("devices", self.devices);
    v.field("logical_node", self.logical_node);
    v.field("bundle", self.bundle);
  }
};

/// Whether virtual clusters can be formed.
enum class Outcome : std::uint8_t {
  Formed,
  Waiting,    ///< Does not fit into what is free now.
  Infeasible  ///< Would not fit if every declared node were usable and all of it free.
};

/// The answer about all virtual clusters of one job.
struct Forming {
  Outcome outcome = Outcome::Waiting;
  std::string
      reason;  ///< What binds, for the user that waits (also when the job's wait_deadline
               ///< ends it): "virtual cluster train: needs ...; ... has 3". Empty if formed.
  std::vector<std::vector<BundlePlace>> clusters;  ///< Per request, in rank order; empty unless
                                                   ///< formed.
};

/// Forms all of `requests` at once on disjoint devices, CPU and memory, or none. `offers` are all
/// declared nodes, ascending by id.
///
/// Rank order: bundles of one node stand together, ascending by device. Nodes stand in the order of
/// the logical nodes on them; logical nodes that are alike were given to nodes in the order of
/// segment, NVLink domain, rack and id (unified: nodes stand in that order).
Forming form(std::span<const NodeOffer> offers, std::span<const BundleRequest> requests);

/// As `form`, for a policy that only tries: Formed or Waiting, with no reason. Looks at free
/// capacity only.
Forming try_form(std::span<const NodeOffer> offers, std::span<const BundleRequest> requests);

}  // namespace orrery::vcluster

namespace orrery {

template <>
struct EnumNames<vcluster::Outcome> {
  static constexpr std::array kNames{"formed", "waiting", "infeasible"};
};

}  // namespace orrery
