// Where the workers of a job shall sit, where that is asked for: placements written out, and
// virtual clusters of bundles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// A role's placement at one size, in the placement language (docs/placement.md).
struct RolePlacement {
  std::int32_t replicas = 0;             ///< Processes that the text places.
  std::vector<std::string> node_groups;  ///< Labels; empty: the whole cluster.
  std::string text;                      ///< "0-3:0-7".

  friend bool operator==(const RolePlacement&, const RolePlacement&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("replicas", self.replicas);
    v.field("node_groups", self.node_groups);
    v.field("text", self.text);
  }
};

/// How the bundles of a virtual cluster lie on nodes.
enum class BundleStrategy : std::uint8_t {
  Pack,         ///< Together on as few nodes as possible.
  StrictPack,   ///< All on one node, or not at all.
  Spread,       ///< On as many nodes as possible.
  StrictSpread  ///< Each on a node of its own, or not at all.
};

template <>
struct EnumNames<BundleStrategy> {
  static constexpr std::array kNames{"pack", "strict_pack", "spread", "strict_spread"};
};

/// What keeps the nodes of one segment together.
enum class SegmentBy : std::uint8_t { None, NvlinkDomain, Rack };

template <>
struct EnumNames<SegmentBy> {
  static constexpr std::array kNames{"none", "nvlink_domain", "rack"};
};

/// Bundles set aside for worker groups.
struct VirtualClusterSpec {
  std::string name;                            ///< DNS label, unique in the job.
  std::vector<std::int32_t> bundles_per_node;  ///< Per logical node; 0: none there. Sum at least 1.
  std::int32_t devices_per_bundle = 1;         ///< 0 to 64.
  MilliCpu cpu_per_bundle;                     ///< Per worker group that it may hold.
  Bytes memory_per_bundle;                     ///< Per worker group that it may hold.
  std::string device_model;                    ///< Empty: any, but one model for all bundles.
  bool unified = false;  ///< One group of all bundles under `strategy`. Otherwise each logical node
                         ///< lies on one node, and `strategy` is about logical nodes.
  BundleStrategy strategy = BundleStrategy::Pack;
  std::int32_t max_worker_groups = 1;  ///< Worker groups that may share a bundle, taking turns.
  SegmentBy segment_by = SegmentBy::None;
  std::int32_t segment_size = 0;  ///< Logical nodes per segment; 0: all in one segment.

  friend bool operator==(const VirtualClusterSpec&, const VirtualClusterSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("bundles_per_node", self.bundles_per_node);
    v.field("devices_per_bundle", self.devices_per_bundle);
    v.field("cpu_per_bundle", self.cpu_per_bundle);
    v.field("memory_per_bundle", self.memory_per_bundle);
    v.field("device_model", self.device_model);
    v.field("unified", self.unified);
    v.field("strategy", self.strategy);
    v.field("max_worker_groups", self.max_worker_groups);
    v.field("segment_by", self.segment_by);
    v.field("segment_size", self.segment_size);
  }
};

/// Bundles of one logical node that one tied group of workers owns.
struct TiedBundles {
  std::int32_t node = 0;              ///< Logical node.
  std::vector<std::int32_t> bundles;  ///< Of that node; the first is the leader's.

  friend bool operator==(const TiedBundles&, const TiedBundles&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("bundles", self.bundles);
  }
};

/// A role as a worker group of a virtual cluster: one worker per bundle unless said otherwise.
struct WorkerGroupSpec {
  std::string virtual_cluster;                 ///< Empty: the role is none.
  std::vector<std::int32_t> workers_per_node;  ///< Per logical node that has bundles; one value
                                               ///< stands for all. Empty: one worker per bundle.
  std::vector<TiedBundles> tied;               ///< Tied groups, instead of `workers_per_node`.

  bool is_set() const { return !virtual_cluster.empty(); }

  friend bool operator==(const WorkerGroupSpec&, const WorkerGroupSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("virtual_cluster", self.virtual_cluster);
    v.field("workers_per_node", self.workers_per_node);
    v.field("tied", self.tied);
  }
};

/// Roles of one job that may sit on the same devices because they take turns on them.
struct TurnGroup {
  std::vector<std::string> roles;  ///< At least two.

  friend bool operator==(const TurnGroup&, const TurnGroup&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("roles", self.roles);
  }
};

}  // namespace orrery
