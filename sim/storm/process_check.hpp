// The part of the storm's checker that knows which processes really live, and what may live
// together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/cluster/seat.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// The lasting name of one process.
struct ProcessName {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;

  friend auto operator<=>(const ProcessName&, const ProcessName&) = default;
};

/// One process as it was spawned.
struct TrueProcess {
  ProcessName name;
  Generation born;
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;                ///< Of the one device.
  Bundle bundle;              ///< What its role takes.
  TurnKey turns;              ///< Whom it shares devices with.
};

/// Whether the two may live on the same devices because their roles take turns, or one job was put
/// beside the other.
bool take_turns(JobId a, TurnKey of_a, JobId b, TurnKey of_b);

/// "job 3, role 0[1], incarnation 2 on node 4".
std::string describe(const TrueProcess& process);

/// Living processes by node. Every call says when, on the world's clock.
class ProcessCheck {
 public:
  /// Nodes in the order of their ids. `stale_after`: so long may a process outlive its
  /// successor's order.
  ProcessCheck(const std::vector<NodeGroup>& groups, Duration stale_after, Violations& found);

  void began(Instant now, const TrueProcess& process);
  void gone(NodeId node, const ProcessName& name);

  /// A membership gives a process a new place, whether it has heard of it or not.
  void moved(Instant now, const ProcessName& name, RoleIndex role, std::int32_t local_rank);

  /// The workers of a job's new membership. Its other processes have successors: they may live
  /// until their lease is over.
  void membership(Instant now, JobId job, const std::vector<ProcessName>& members);

  /// Processes that should be dead by now.
  void time_reached(Instant now);

  std::size_t living() const { return living_; }

 private:
  struct Living {
    TrueProcess process;
    Instant stale_at = Instant::never();
    bool told = false;
  };

  struct Node {
    MilliCpu cpu;
    Bytes memory;
    std::vector<Living> living;
  };

  void check_devices(Instant now, const Node& node, const TrueProcess& fresh);
  void check_capacity(Instant now, const Node& node, const TrueProcess& fresh);
  bool check_places(Instant now, const TrueProcess& fresh);
  Living* find(const ProcessName& name);

  Violations& found_;
  Duration stale_after_;
  std::vector<Node> nodes_;
  std::size_t living_ = 0;
  std::size_t stale_ = 0;  ///< Living that must end.
};

}  // namespace orrery::sim
