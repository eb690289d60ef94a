// The faults of a scenario in the simulated cluster: which part each is for, and whom it hits.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/faults/fault_processes.hpp"
#include "sim/model/cluster_state.hpp"
#include "sim/model/fabric_links.hpp"
#include "sim/model/node_faults.hpp"
#include "sim/model/processes.hpp"
#include "sim/model/sub_masters.hpp"

namespace orrery::sim {

class ClusterFaults {
 public:
  /// All outlive the object.
  ClusterFaults(ClusterState& cluster,
                FabricLinks& links,
                SubMasters& sub_masters,
                Processes& processes,
                NodeFaults& nodes)
      : cluster_(cluster),
        links_(links),
        sub_masters_(sub_masters),
        processes_(processes),
        nodes_(nodes),
        at_random_(cluster.scenario) {}

  /// The fault strikes now.
  void strike(const scenarios::Fault& fault);

  /// Puts the first failure of each random process into the future.
  void schedule_random();

  /// A future of kind NodeDown: the node fails by this random process.
  void strike_at_random(NodeId node, std::size_t process);

 private:
  void schedule_next(std::size_t process, NodeId node, Instant from);
  void strike_worker(const scenarios::Fault& fault);
  void strike_workers_of_nodes(const scenarios::Fault& fault, std::optional<std::uint32_t> pick);
  void hit(LiveJob& job, ModelWorker& worker, const scenarios::Fault& fault);

  ClusterState& cluster_;
  FabricLinks& links_;
  SubMasters& sub_masters_;
  Processes& processes_;
  NodeFaults& nodes_;
  FaultProcesses at_random_;
};

}  // namespace orrery::sim
