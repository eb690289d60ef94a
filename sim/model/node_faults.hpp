// What happens to the nodes of the simulated cluster, and through them to all that runs there: they
// go down and come back, lose devices, are slow, leave, and are replaced.
#pragma once

#include <cstdint>
#include <vector>

#include "core/record/command.hpp"
#include "sim/model/cluster_state.hpp"
#include "sim/model/processes.hpp"
#include "sim/model/progress.hpp"

namespace orrery::sim {

class NodeFaults {
 public:
  /// All outlive the object.
  NodeFaults(ClusterState& cluster, Progress& progress, Processes& processes)
      : cluster_(cluster), progress_(progress), processes_(processes) {}

  /// A fault that is of a node and not of its workers.
  void strike(NodeId node, const scenarios::Fault& fault);

  /// All that runs there is slow.
  void slow_down(NodeId node, const scenarios::Fault& fault);

  /// The modelled extension is asked for new machines (`Scenario::relaunch`).
  void relaunch(const RelaunchNodes& order);

  // --- what the cluster's future holds for them: one function per kind ---

  void departure(NodeId node, std::uint32_t index);
  void repaired(NodeId node);
  void devices_repaired(NodeId node);
  void fast_again(NodeId node);
  void let_in(NodeId node);
  void relaunched(std::uint32_t index);

 private:
  void go_down(NodeId node, Duration lasting);
  void come_up(NodeId node);
  void lose_devices(NodeId node, std::uint64_t devices, Duration lasting);
  void announce_departure(NodeId node, const scenarios::Fault& fault);
  void exclude(NodeId node, const scenarios::Fault& fault);
  void set_speed(NodeId node);
  void pace_all_on(NodeId node);
  void replace(NodeId node);

  ClusterState& cluster_;
  Progress& progress_;
  Processes& processes_;
  std::vector<Duration> departures_;       ///< How long the node stays down, in order of notice.
  std::vector<RelaunchNodes> relaunches_;  ///< In the order in which they were asked for.
};

}  // namespace orrery::sim
