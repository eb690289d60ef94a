// Free capacity, kept incrementally: which nodes have how many free devices, found without a scan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/bitset_index.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/node_count.hpp"
#include "core/cluster/resources.hpp"

namespace orrery {

/// A bundle with its model resolved to the cluster's id.
struct Demand {
  MilliCpu cpu;
  Bytes memory;
  std::int32_t devices = 0;
  Share share;          ///< Whole unless `devices` is 1.
  DeviceModelId model;  ///< None: any model.

  /// Of devices, whole ones and parts.
  std::int64_t thousandths() const { return thousandths_of(devices, share); }

  friend bool operator==(const Demand&, const Demand&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("cpu", self.cpu);
    v.field("memory", self.memory);
    v.field("devices", self.devices);
    v.field("share", self.share);
    v.field("model", self.model);
  }
};

/// Whether a replica asks for a part of one device.
inline bool is_share(const Demand& demand) {
  return demand.devices == 1 && !demand.share.is_whole();
}

/// Thousandths left on each of a node's partly taken devices that have some left, ascending.
using DeviceParts = std::vector<std::int16_t>;

/// What one node can still give.
struct NodeFree {
  MilliCpu cpu;
  Bytes memory;
  std::int32_t devices = 0;      ///< Wholly free devices.
  std::int32_t partial_max = 0;  ///< Thousandths left on its emptiest partly taken device.
  DeviceModelId model;           ///< None: the node has no device.
  bool usable = true;            ///< Up, not cordoned.
  /// Null where nothing is left in parts: what takes whole devices costs nothing for it. Where
  /// `partial_max` is above 0 beside it, nothing else is known (Ledger::count_parts).
  std::shared_ptr<const DeviceParts> parts = nullptr;

  /// Thousandths of devices that are free, whole ones and parts.
  std::int64_t thousandths() const;

  friend bool operator==(const NodeFree& a, const NodeFree& b) {
    return a.cpu == b.cpu && a.memory == b.memory && a.devices == b.devices &&
           a.partial_max == b.partial_max && a.model == b.model && a.usable == b.usable &&
           (a.parts == b.parts || (a.parts && b.parts && *a.parts == *b.parts));
  }
};

/// Sets both members that tell of parts; sorts them first.
void set_parts(NodeFree& free, DeviceParts parts);

/// The most of one node that lies within both: what fits there fits on either.
NodeFree least_of(const NodeFree& a, const NodeFree& b);

/// What is free after `replicas` of `demand` were taken, which fit. A share is taken as a claim
/// takes it: from the fullest device that has so much left, else from a whole one.
NodeFree less(NodeFree free, const Demand& demand, std::int32_t replicas);

/// The same for one replica of a share, from a device of which `left` thousandths are free: a part
/// that there is, or 1000 for one that is wholly free; at least what is asked for.
NodeFree less_from(NodeFree free, const Demand& demand, std::int32_t left);

/// Whether one replica of `demand` fits on a node with this much free.
bool has_room(const NodeFree& free, const Demand& demand);

/// How many replicas of `demand` fit on a node with this much free.
std::int32_t replicas_that_fit(const NodeFree& free, const Demand& demand);

/// The node's part of `FreeIndex::replicas_by_devices`, for whole devices.
std::int64_t replicas_by_devices(const NodeFree& free, const Demand& demand);

/// Nodes by model and number of free devices. Lookups and updates cost O(log64 nodes).
class FreeIndex {
 public:
  /// Appends a node; its id is the number of nodes before.
  NodeId add(const NodeFree& free);

  /// Replaces what a node has free.
  void set(NodeId node, const NodeFree& free);

  const NodeFree& at(NodeId node) const { return nodes_[node.index()]; }

  std::size_t size() const { return nodes_.size(); }

  /// Wholly free devices of all usable nodes.
  std::int64_t free_devices() const { return free_devices_; }

  /// CPU and memory that all usable nodes have free.
  MilliCpu free_cpu() const { return free_cpu_; }

  Bytes free_memory() const { return free_memory_; }

  /// Free devices of all usable nodes in thousandths, parts added up.
  std::int64_t free_thousandths() const { return free_thousandths_; }

  /// Free devices of all usable nodes with the parts of others added up, rounded up. What is asked
  /// for in parts can fit where no device is wholly free.
  std::int64_t device_room() const { return (free_thousandths_ + 999) / 1000; }

  /// Upper bound on how many replicas of `demand` fit by device counts alone; O(distinct counts).
  std::int64_t replicas_by_devices(const Demand& demand) const;

  /// The most free devices that a node has or had; -1 where there is no node.
  std::int32_t devices_most() const { return devices_most_; }

  /// The usable node with exactly `devices` wholly free devices and room for one replica of
  /// `demand`, the lowest id of several from `from` on, other than `avoid`; none where there is
  /// none. Costs what the nodes cost that are passed over because CPU or memory is short there.
  NodeId first_with(const Demand& demand,
                    std::int32_t devices,
                    NodeId avoid,
                    std::uint32_t from = 0) const;

  /// Takes or gives back `replicas` of `demand` on one node. A share is taken as a claim takes it:
  /// from the fullest device that has so much left, else from a whole one. Where a share is given
  /// back, its device is not known: it is taken to be the emptiest that can have held it.
  void take(NodeId node, const Demand& demand, std::int32_t replicas);
  void give(NodeId node, const Demand& demand, std::int32_t replicas);

  /// Raised by each change. `changed_since` names the nodes changed after `version`, possibly
  /// repeated, or returns false where the log does not reach back that far.
  std::uint64_t version() const { return version_; }

  bool changed_since(std::uint64_t version, std::vector<NodeId>& out) const;

  /// Takes over all of `other` at once. For readers that follow this index by `changed_since`,
  /// everything has changed.
  void become(const FreeIndex& other);

 private:
  struct ModelBuckets {
    std::vector<BitsetIndex> by_free;  ///< [free devices] -> usable nodes.
    std::vector<std::int32_t> count;   ///< Size of each.
  };

  std::size_t bucket_of(DeviceModelId model) const {
    return model.is_none() ? 0 : model.index() + 1;
  }

  void insert(NodeId node);
  void erase(NodeId node);
  void count(const NodeFree& free, int sign);
  void note_change(NodeId node);
  void change(NodeId node, MilliCpu cpu, Bytes memory, std::int32_t devices);
  void change_by(NodeId node, const Demand& demand, std::int32_t replicas);

  std::vector<NodeFree> nodes_;
  std::vector<ModelBuckets> models_;  ///< [0]: nodes without devices, [m + 1]: model m.
  std::int32_t devices_most_ = -1;
  std::int64_t free_devices_ = 0;
  std::int64_t free_thousandths_ = 0;
  MilliCpu free_cpu_;
  Bytes free_memory_;
  std::uint64_t version_ = 0;
  std::vector<NodeId> log_;      ///< Ring: change v is at v modulo its size.
  std::uint64_t log_begin_ = 0;  ///< The first version that the ring may hold.
};

/// Of what a trial is: of what is free now, or of what is expected to be free at a later time.
enum class TrialTime : std::uint8_t { Now, Later };

/// A private copy of a FreeIndex for trying things out: `sync` costs what changed since the last
/// call, `rollback` what was tried. Owned by a policy, reused from call to call.
class CapacityTrial {
 public:
  explicit CapacityTrial(TrialTime time = TrialTime::Now) : time_(time) {}

  /// Makes the copy equal to `base`, which must outlive the trial's use until the next sync.
  void sync(const FreeIndex& base);

  /// Undoes all that was taken or given since `sync`.
  void rollback();

  /// The next `sync` copies all of its base: for a base that went back to an earlier version.
  void forget() { base_ = nullptr; }

  const FreeIndex& index() const { return copy_; }

  /// Whether it begins with what is free now, so that what is held now is held in it.
  bool is_of_now() const { return time_ == TrialTime::Now; }

  /// Nodes taken from or given to since `sync`, possibly repeated.
  std::span<const NodeId> touched() const { return touched_; }

  /// Whether the job gave what it holds on the node since `sync`, and has not taken it back.
  bool gave(NodeId node, JobId job) const;

  /// `whose`: the job that gives all that it holds on the node, or takes it back, for `gave`; none:
  /// nobody's. What others take there afterwards does not undo that it gave.
  void take(NodeId node, const Demand& demand, std::int32_t replicas, JobId whose = JobId::none());
  void give(NodeId node, const Demand& demand, std::int32_t replicas, JobId whose = JobId::none());

  /// Takes one replica of a share from a device of which `left` thousandths are free (`less_from`).
  void take_from(NodeId node, const Demand& demand, std::int32_t left);

  /// Leaves on the node no more than lies within `most` as well.
  void reduce(NodeId node, const NodeFree& most);

  /// Remembers what was tried so far, for `undo`.
  std::size_t mark() const { return touched_.size(); }

  /// Undoes exactly what was tried since `mark` was called.
  void undo(std::size_t mark);

 private:
  /// That a job gave all that it holds on a node, or took it back.
  struct GiveNote {
    std::size_t entry;  ///< Of `touched_`.
    JobId job;
    bool gives;
  };

  void touch(NodeId node);
  void note(JobId whose, bool gives);

  TrialTime time_;
  const FreeIndex* base_ = nullptr;
  FreeIndex copy_;
  std::uint64_t base_version_ = 0;
  std::vector<NodeId> touched_;
  std::vector<NodeFree> before_;  ///< Of each entry of `touched_`.
  std::vector<GiveNote> notes_;   ///< In the order of `touched_`.
  std::vector<NodeId> changed_;   ///< Scratch of `sync`.
};

}  // namespace orrery
