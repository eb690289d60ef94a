// Progress under timing `pollux`: all jobs advance by ticks, each by the model of its application.
#pragma once

#include <optional>
#include <vector>

#include "sim/model/cluster_state.hpp"

namespace orrery::sim {

/// The model counts whole seconds. What happens within one, such as a failure, counts from its
/// beginning.
class PolluxProgress {
 public:
  /// `cluster` outlives the object.
  explicit PolluxProgress(ClusterState& cluster) : cluster_(cluster) {}

  /// The job's workers are where the plan put them: ranks in order, nodes as they come.
  void place(LiveJob& job);

  /// The job has no workers any more.
  void release(LiveJob& job);

  /// A tick is over: every placed job of this timing advances, and `completed` is called with those
  /// whose work is done, and since when.
  template <class Completed>
  void tick(Completed completed) {
    scheduled_ = false;
    cluster_.jobs.for_each_placed([&](LiveJob& job) {
      if (!job.pollux) return;
      if (const std::optional<Instant> at = advance(job)) completed(job, *at);
    });
    if (cluster_.jobs.any_placed()) schedule();
  }

 private:
  const PolluxApplication* slowest_on(const LiveJob& job,
                                      const std::vector<NodeId>& nodes,
                                      const std::vector<int>& gpus_per_node) const;
  void schedule();
  void catch_up(PolluxJob& model) const;
  std::optional<Instant> advance(LiveJob& job);
  void report(LiveJob& job);

  ClusterState& cluster_;
  bool scheduled_ = false;
};

}  // namespace orrery::sim
