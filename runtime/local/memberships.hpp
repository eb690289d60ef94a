// The workers of each job, as the controller's orders tell them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/record/command.hpp"

namespace orrery::runtime {

/// The latest membership of every job that is not cleaned yet, learnt from orders in their order.
class Memberships {
 public:
  /// Takes in what an order says of memberships; other orders are ignored.
  void ordered(const CommandBody& order);

  /// All workers of the job by rank; empty where not all of them are known.
  std::span<const WorkerStart> members(JobId job) const;

 private:
  struct Membership {
    Generation generation;
    std::uint32_t world_size = 0;
    std::vector<WorkerStart> workers;  ///< Ascending by rank.
  };

  void learn(const StartWorkers& start);
  void learn(const UpdateMembership& update);

  std::map<JobId, Membership> jobs_;
};

}  // namespace orrery::runtime
