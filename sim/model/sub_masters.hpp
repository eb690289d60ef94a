// Sub-masters in the simulated cluster: what they are told, what they answer, and when faults kill
// them.
#pragma once

#include <string>
#include <vector>

#include "sim/model/cluster_state.hpp"
#include "sim/model/progress.hpp"

namespace orrery::sim {

/// A sub-master keeps no state, so each message is answered as it comes, also by one that has just
/// started. The caller ends the processes that this says die.
class SubMasters {
 public:
  /// Both outlive the object.
  SubMasters(ClusterState& cluster, Progress& progress) : cluster_(cluster), progress_(progress) {}

  /// What a message has done to the sub-master that received it.
  enum class Outcome : std::uint8_t { Lives, Dies };

  /// The sub-master receives a message about the role that it leads.
  Outcome receive(LiveJob& job,
                  const ModelWorker& master,
                  RoleIndex role,
                  std::uint32_t incident,
                  SubMasterOrder word);

  /// A sub-master that is told to end leads no more: the controller has taken over.
  void forget_lead(LiveJob& job, const ModelWorker& master);

  /// Fault: the so many next messages of its kind are each the death of the role's sub-master.
  void arm(const scenarios::Fault& fault);

  /// A worker has failed: the sub-master that dies before the controller knows of that; usually
  /// null.
  ModelWorker* dying_at_report(LiveJob& job, const ModelWorker& failed);

 private:
  struct ArmedCrash {
    std::string job;
    std::string role;  ///< Of the sub-master, or the one that it leads.
    scenarios::RoleArrow arrow;
    std::int32_t times = 1;
  };

  bool dies_at(const LiveJob& job, RoleIndex role, scenarios::RoleArrow arrow);
  void say(const LiveJob& job,
           const ModelWorker& master,
           const LedRole& led,
           SubMasterMessage word);

  ClusterState& cluster_;
  Progress& progress_;
  std::vector<ArmedCrash> armed_;  ///< Waiting for their message.
};

}  // namespace orrery::sim
