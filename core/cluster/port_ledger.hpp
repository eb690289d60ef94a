// The port ledger: which ports of which node belong to which worker, so that workers which share a
// host never listen on the same one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/cluster/port_range.hpp"

namespace orrery {

/// Ports of a node that are avoided at most. A worker that finds more of them in use has bad luck,
/// not too few ports, and its failures are counted.
inline constexpr std::size_t kAvoidedMax = 256;

/// Consecutive ports of one node, [first, first + count). Held by one worker from grant to exit.
struct PortBlock {
  NodeId node;
  std::int32_t first = 0;
  std::int32_t count = 0;

  static PortBlock none() { return {}; }

  bool is_none() const { return count == 0; }

  friend bool operator==(const PortBlock&, const PortBlock&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("first", self.first);
    v.field("count", self.count);
  }
};

/// The ports of one node.
struct NodePorts {
  PortRange range = PortRange::standard();  ///< What the node has to give.
  std::int32_t free = kPortsPerNode;        ///< Of `range`.
  std::vector<PortRange> taken;  ///< Ascending, disjoint; neighbours are not merged. `avoided` too.
  std::vector<std::int32_t> avoided;  ///< In use by something else on the host; in order of report.

  friend bool operator==(const NodePorts&, const NodePorts&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field_since(5, "range", self.range);
    v.field("free", self.free);
    v.field("taken", self.taken);
    v.field_since(4, "avoided", self.avoided);
  }
};

/// Blocks of ports, taken and given back like leases. Lowest fit: a block lies at the lowest free
/// place of its node that holds it, so the first worker on a node starts at the node's first port
/// and equal histories give equal ports. Conservation is an invariant: on every node, ports taken
/// (or avoided) plus ports free are those of its range, and no port is taken twice. Nodes with all
/// ports need no declaration; a cluster in which no job asks for ports costs nothing. Plain data:
/// part of the controller's digested state.
class PortLedger {
 public:
  /// The node gives ports of `range` alone (within 1 to kPortMax, at least one port). Before any
  /// of its ports is taken.
  void declare(NodeId node, PortRange range);

  /// What the node has to give.
  PortRange range(NodeId node) const;

  /// Whether `take` would succeed. `count` is at least 1. O(blocks on the node).
  bool fits(NodeId node, std::int32_t count) const;

  /// How many blocks of `count` ports (at least 1) can be taken one after the other. O(blocks on
  /// the node).
  std::int32_t room(NodeId node, std::int32_t count) const;

  /// Takes `count` (at least 1) consecutive ports of `node`; none where no gap is that long, and
  /// then nothing has changed. O(blocks on the node).
  PortBlock take(NodeId node, std::int32_t count);

  /// Gives back a whole block that `take` gave; none is ignored. O(blocks on the node).
  void give(const PortBlock& block);

  /// Something else on the host listens at the port: no worker is given it until `forget_avoided`.
  /// False, and nothing has changed, where it is taken, or kAvoidedMax of the node are avoided.
  bool avoid(NodeId node, std::int32_t port);

  /// What an exchange gave.
  struct Exchange {
    PortBlock block;      ///< As many ports as before.
    bool avoids = false;  ///< Whether the port is avoided, and not in the block.
  };

  /// Gives a block back, avoids one of its ports, and takes a block of the same length.
  Exchange exchange(const PortBlock& block, std::int32_t port);

  /// The host has begun anew: all its ports may be given again.
  void forget_avoided(NodeId node);

  /// Ports of the node that are avoided.
  std::span<const std::int32_t> avoided(NodeId node) const;

  /// Why `take` refuses: what was asked, what is free, how to mend it. Empty where it would not.
  std::string refusal(NodeId node, std::int32_t count) const;

  /// The blocks taken on `node`, ascending.
  std::span<const PortRange> taken(NodeId node) const;

  /// Ports free on `node`, in however many gaps.
  std::int32_t free(NodeId node) const;

  /// Ends the program if conservation does not hold. O(nodes + blocks): for tests and storms.
  void check() const;

  friend bool operator==(const PortLedger&, const PortLedger&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("nodes", self.nodes_);
  }

 private:
  std::vector<NodePorts> nodes_;  ///< Up to the highest node that gave a port or has a range.
};

}  // namespace orrery
