// Jobs of a common mix, driven through a fabric: what benchmarks of levels L0, L1 and L2 run.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/language/spec/network_spec.hpp"
#include "sim/fabric/fabric.hpp"

namespace orrery::bench {

/// Jobs on a cluster of nodes of 8 devices. Half of the jobs are of one device, 15 % of 2 to 8
/// nodes; each begins in its order as soon as there is room, in three stages one after the other.
struct FabricCase {
  const char* name;
  scenarios::NetworkSpec network;
  std::uint32_t nodes;
  std::uint32_t jobs;
  bool multi_node_only;
  bool scattered;    ///< Nodes of a job are drawn at random; otherwise they lie side by side.
  double node_rate;  ///< Bytes a second that a node of a ring sends.
  double saved = 0;  ///< Bytes that each node sends to the storage after each stage; 0: none.
};

struct FabricJob {
  std::uint32_t devices = 1;
  double seconds = 0;
};

struct FabricOutcome {
  double cpu_s = 0;
  double uplinks_busy = 0;  ///< Mean over samples and links between switches.
  double makespan_s = 0;
};

std::vector<FabricJob> make_fabric_jobs(const FabricCase& setup);

/// Runs all jobs. Links between switches are those whose names begin with "leaf".
FabricOutcome run_fabric_jobs(sim::Fabric& fabric,
                              const FabricCase& setup,
                              const std::vector<FabricJob>& jobs);

/// A 2:1 fat-tree with so many nodes on a leaf switch.
scenarios::NetworkSpec two_to_one_fat_tree(std::int32_t per_leaf);

}  // namespace orrery::bench
