// The device ledger: which lease holds, waits for, or is giving back what, on every node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/prefetch.hpp"
#include "core/cluster/free_index.hpp"
#include "core/cluster/gang_fit.hpp"
#include "core/cluster/node_devices.hpp"
#include "core/cluster/port_ledger.hpp"
#include "core/cluster/resources.hpp"
#include "core/cluster/seat.hpp"

namespace orrery {

/// How far a lease has come. Its capacity counts as taken while Claimed or Held, and as free for
/// new claims while Releasing; no worker may *use* a device until the lease before has gone.
enum class LeaseStage : std::uint8_t { Claimed, Held, Releasing };

template <>
struct EnumNames<LeaseStage> {
  static constexpr std::array kNames{"claimed", "held", "releasing"};
};

/// What one worker has on one node.
struct Lease {
  JobId owner;
  NodeId node;
  LeaseStage stage = LeaseStage::Claimed;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Demand demand;              ///< What was taken, per lease.
  LeaseId next;               ///< Next lease of the same node, in order of claiming.
  LeaseId previous;
  std::uint64_t hardware = 0;  ///< Bit i: piece i of the node's custom hardware.
  Share hardware_share;        ///< Of each of them.
  TurnKey turns;               ///< The leases that it takes turns with.
  PortRange ports;             ///< Of the node, until the lease is released; none where not asked.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("owner", self.owner);
    v.field("node", self.node);
    v.field("stage", self.stage);
    v.field("devices", self.devices);
    v.field("demand", self.demand);
    v.field("next", self.next);
    v.field("previous", self.previous);
    v.field_since(3, "hardware", self.hardware);
    v.field_since(3, "hardware_share", self.hardware_share);
    v.field_since(3, "turns", self.turns);
    v.field_since(3, "ports", self.ports);
  }
};

/// One node as declared, with its ledger.
struct LedgerNode {
  MilliCpu cpu;  ///< Total.
  Bytes memory;  ///< Total.
  std::int32_t devices = 0;
  DeviceModelId model;
  bool usable = true;
  MilliCpu cpu_unused;  ///< Not Held nor Releasing by anyone.
  Bytes memory_unused;
  std::uint64_t whole_unclaimed = 0;  ///< Devices that a new claim may take whole.
  std::uint64_t whole_unused = 0;     ///< Devices on which nothing is Held or Releasing.
  LeaseId first;                      ///< Leases on this node, oldest first.
  LeaseId last;
  std::uint32_t claimed = 0;  ///< Leases that are Claimed, not yet Held.
  std::int32_t hardware = 0;  ///< Pieces of custom hardware, 0 to 64.
  std::uint32_t beside = 0;   ///< Leases beside another job's. Derived from them.
  std::int32_t rack = -1;     ///< Dense over the cluster; -1: none declared. Not saved: `set_site`.
  std::int32_t nvlink_domain = -1;  ///< As `rack`.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("cpu", self.cpu);
    v.field("memory", self.memory);
    v.field("devices", self.devices);
    v.field("model", self.model);
    v.field("usable", self.usable);
    v.field("cpu_unused", self.cpu_unused);
    v.field("memory_unused", self.memory_unused);
    v.field("whole_unclaimed", self.whole_unclaimed);
    v.field("whole_unused", self.whole_unused);
    v.field("first", self.first);
    v.field("last", self.last);
    v.field("claimed", self.claimed);
    v.field_since(3, "hardware", self.hardware);
  }
};

/// Leases on nodes. Conservation is an invariant: what is taken plus what is free is what the node
/// has, for devices and custom hardware in thousandths, CPU, memory and ports alike (`check`).
/// Leases that take turns count once: the most that any one of them takes (ADR 0014). So do two
/// whole devices' leases of which one sits beside the other (ADR 0022).
class Ledger {
 public:
  /// Appends a node with all of it free.
  NodeId add_node(const NodeGroup& group, DeviceModelId model);

  /// Where the node stands, for placers to read. Not saved: to be said again after loading.
  void set_site(NodeId node, std::int32_t rack, std::int32_t nvlink_domain) {
    nodes_[node.index()].rack = rack;
    nodes_[node.index()].nvlink_domain = nvlink_domain;
  }

  /// What the devices of the node can give to a replica of `demand`.
  NodeDevices devices_of(NodeId node, const Demand& demand) const;

  /// Takes `demand` on `node` for a worker of `owner`, of its devices exactly `devices`, which a
  /// placer chose from `devices_of`; the free index must have room for it.
  /// Held at once where everything is unused, else Claimed until those before have gone.
  LeaseId claim(JobId owner, NodeId node, const Demand& demand, DeviceSet devices);

  /// Whether `seat` can be claimed now: the node is usable and has the CPU and memory of `demand`,
  /// and what the seat names is free or held by leases that take turns with it. Leases of `except`
  /// count as given back already; none: no lease's. False where the node lacks what the seat names.
  bool seat_fits(const Seat& seat,
                 const Demand& demand,
                 JobId owner,
                 TurnKey turns,
                 JobId except = JobId::none()) const;

  /// Takes exactly `seat` for a worker of `owner`, and of `demand` the CPU and memory; `seat_fits`
  /// must hold. Otherwise as `claim`.
  LeaseId claim_seat(JobId owner, const Demand& demand, const Seat& seat, TurnKey turns);

  /// Takes `count` ports (at least 1) in a row for the worker of the lease, which has none yet.
  /// They are its own until the lease is released, also while it is Releasing. False where its node
  /// has no such gap; `ports().refusal` says why.
  bool take_ports(LeaseId lease, std::int32_t count);

  /// Something else on the host listens at `port` of the lease's block: the lease gets another
  /// block. False where the port is not its own, or no block without it is to be had.
  bool exchange_ports(LeaseId lease, std::int32_t port);

  /// Ports of the node that were in use by something else may be given again.
  void forget_avoided_ports(NodeId node) { ports_.forget_avoided(node); }

  /// The worker was told to stop: its capacity may be claimed anew. A Claimed lease ends at once.
  /// `ready` receives the owners of leases that became Held.
  void begin_release(LeaseId lease, std::vector<JobId>& ready);

  /// The worker is gone. `ready` receives the owners of leases that became Held, in claim order.
  void release(LeaseId lease, std::vector<JobId>& ready);

  /// A node goes out of or comes back into use. Its leases stay until released.
  void set_usable(NodeId node, bool usable);

  /// Ports taken by leases, per node.
  const PortLedger& ports() const { return ports_; }

  const Lease& lease(LeaseId id) const { return leases_[id.index()]; }

  /// The lease on this node is looked at soon: both are fetched meanwhile. It may be none.
  void expect(NodeId node, LeaseId id) const {
    if (id.is_none()) return;
    prefetch(&leases_[id.index()]);
    prefetch(&nodes_[node.index()]);
  }

  const LedgerNode& node(NodeId id) const { return nodes_[id.index()]; }

  std::size_t node_count() const { return nodes_.size(); }

  /// Leases that sit beside another job's.
  std::size_t beside() const { return beside_; }

  /// Free for new claims.
  const FreeIndex& free() const { return free_; }

  /// Whether what is left of each partly taken device is known to `free`, or only of the emptiest
  /// one of a node, as in journals from before rule 1. Not saved: the controller sets it.
  void count_parts(bool all);

  /// Whether `replicas` of `demand` could be placed if all nodes were free and up. O(kinds of
  /// node).
  bool could_ever_fit(const Demand& demand, std::int64_t replicas) const;

  /// All nodes as they are declared, those that are alike together; in order of first appearance.
  const std::vector<NodeKind>& kinds() const { return kinds_; }

  /// The most CPU and the most devices that any node has, not always the same one.
  MilliCpu cpu_most() const;
  std::int32_t devices_most() const;

  /// Devices of usable nodes, free or not.
  std::int64_t devices_usable() const { return devices_usable_; }

  /// Devices of all nodes.
  std::int64_t devices_total() const { return devices_total_; }

  /// Ends the program if conservation does not hold. O(nodes + leases): for tests and storms.
  void check() const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("nodes", self.nodes_);
    v.field("leases", self.leases_);
    v.field("free_leases", self.free_leases_);
    v.field_since(3, "ports", self.ports_);
  }

  /// After loading the fields: rebuilds what is derived.
  void rebuild();

 private:
  /// Which leases are counted: those that a new claim must respect (Claimed or Held), or those
  /// whose processes may still use what they name (Held or Releasing).
  enum class Count : std::uint8_t { Promised, Used };

  void count_kind(const LedgerNode& node);
  std::int32_t thousandths_taken(NodeId node,
                                 int unit,
                                 Count count,
                                 const Lease* joining = nullptr,
                                 JobId except = JobId::none()) const;
  bool units_allow(const Lease& lease, Count count, JobId except = JobId::none()) const;
  LeaseId add_lease(const Lease& lease);
  NodeFree free_of(NodeId node) const;
  bool can_hold(const Lease& lease) const;
  void hold(Lease& lease);
  void unlink(LeaseId id);
  void make_free(NodeId node, const Lease& lease);
  void count_beside(const Lease& lease, int one);
  void promote(NodeId node, std::vector<JobId>& ready);
  void check_ports(NodeId node) const;
  void recompute_masks(NodeId node, std::uint64_t devices);

  bool counts_parts_ = true;
  std::size_t beside_ = 0;
  std::vector<LedgerNode> nodes_;
  std::vector<Lease> leases_;
  std::vector<LeaseId> free_leases_;
  PortLedger ports_;
  FreeIndex free_;
  std::vector<NodeKind> kinds_;  ///< In order of first appearance.
  std::int64_t devices_usable_ = 0;
  std::int64_t devices_total_ = 0;
};

/// Jobs with leases on the node, ascending.
std::vector<JobId> owners_on(const Ledger& ledger, NodeId node);

}  // namespace orrery
