// How processes come to hear what is wanted of them: by the orders of a controller, which reach all
// workers of a job at once, or by the actions of the agent of one node.
#pragma once

#include "core/agent/agent.hpp"
#include "core/record/command.hpp"
#include "sim/model/cluster_state.hpp"
#include "sim/model/pollux_progress.hpp"
#include "sim/model/processes.hpp"
#include "sim/model/progress.hpp"
#include "sim/model/sub_masters.hpp"

namespace orrery::sim {

/// Both ways end in the same acts on processes (Processes, SubMasters). What differs is what the
/// job knows: an order is known to all of its workers at once; a membership that agents bring
/// counts from the first worker that hears of it, and the others follow.
class WorkerOrders {
 public:
  /// All outlive the object.
  WorkerOrders(ClusterState& cluster,
               Progress& progress,
               PolluxProgress& pollux,
               RoundProgress& rounds,
               SubMasters& sub_masters,
               Processes& processes)
      : cluster_(cluster),
        progress_(progress),
        pollux_(pollux),
        rounds_(rounds),
        sub_masters_(sub_masters),
        processes_(processes) {}

  // --- start ---
  void obey(const StartWorkers& order);
  void act(NodeId node, const SpawnWorker& action);

  // --- membership ---
  void obey(const UpdateMembership& order);
  void act(NodeId node, const TellMembership& action);

  // --- stop ---
  void obey(const StopWorkers& order);
  void act(NodeId node, const SignalWorker& action);

  // --- sub-masters ---
  void obey(const TellSubMaster& order);
  void act(NodeId node, const PassToSubMaster& action);

 private:
  struct Found {
    LiveJob* job = nullptr;
    ModelWorker* worker = nullptr;
  };

  /// Both null where no such worker is on the node.
  Found find(NodeId node, const WorkerName& name) const;
  void hear_of(LiveJob& job, Generation generation, std::uint32_t world_size);
  void tell(LiveJob& job,
            const ModelWorker& master,
            RoleIndex role,
            std::uint32_t incident,
            SubMasterOrder word);

  ClusterState& cluster_;
  Progress& progress_;
  PolluxProgress& pollux_;
  RoundProgress& rounds_;
  SubMasters& sub_masters_;
  Processes& processes_;
};

}  // namespace orrery::sim
