// How fast the workers of a job are: those that hang or are slow, and the models of their devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/model/cluster_state.hpp"

namespace orrery::sim {

/// Tells what share of its rate a job has, and the listener who is suspected of costing the rest.
class WorkerSpeeds {
 public:
  /// `cluster` outlives the object.
  explicit WorkerSpeeds(ClusterState& cluster) : cluster_(cluster) {}

  /// How many times as long as it should each unit of work takes the worker.
  double slowness(const ModelWorker& worker) const;

  /// Of the rate that the job would have on the devices that its work was measured on.
  double factor(LiveJob& job);

  /// Steps a second that the job was measured to make on the devices its elastic role holds: on
  /// the slowest of their models, and apart from each other where it is on several nodes and the
  /// table knows that; beside the job that it shares them with, if any, or at half its speed where
  /// the table does not know the two. 0 where it does not run on them. For jobs with
  /// `ModelJob::speeds`.
  double measured(const LiveJob& job) const;

  /// Tells the listener, unless nothing is heard of the worker's node.
  void suspect(const LiveJob& job, const ModelWorker& worker, Suspicion suspicion);

 private:
  double hampered_factor(LiveJob& job);
  double device_speed(const LiveJob& job) const;
  std::optional<double> measured_on(const LiveJob& job,
                                    const LiveJob* partner,
                                    const std::string& model,
                                    std::int32_t devices) const;
  void look_for_stragglers(LiveJob& job);

  ClusterState& cluster_;
};

}  // namespace orrery::sim
