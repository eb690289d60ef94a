// How fast the workers of a job are: those that hang or are slow, and the models of their devices.
#pragma once

#include "sim/model/room_state.hpp"

namespace orrery::sim {

/// Tells what share of its rate a job has, and the listener who is suspected of costing the rest.
class WorkerSpeeds {
 public:
  /// `room` outlives the object.
  explicit WorkerSpeeds(RoomState& room) : room_(room) {}

  /// How many times as long as it should each unit of work takes the worker.
  double slowness(const ModelWorker& worker) const;

  /// Of the rate that the job would have on the devices that its work was measured on.
  double factor(LiveJob& job);

  /// Tells the listener, unless nothing is heard of the worker's node.
  void suspect(const LiveJob& job, const ModelWorker& worker, Suspicion suspicion);

 private:
  double hampered_factor(LiveJob& job);
  double device_speed(const LiveJob& job) const;
  void look_for_stragglers(LiveJob& job);

  RoomState& room_;
};

}  // namespace orrery::sim
