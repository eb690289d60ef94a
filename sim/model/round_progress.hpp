// Progress under timing `gavel`: in rounds, by measured speeds.
#pragma once

#include <cstdint>
#include <map>

#include "sim/model/cluster_state.hpp"
#include "sim/model/worker_speeds.hpp"

namespace orrery::sim {

/// The rules of the simulator of Gavel's artifact (OSDI 2020), as far as they decide completion
/// times. A job that is placed gets a lease of whole steps:
///
///     steps = min(floor(speed x round), steps left), at least 1
///
/// and is done with it after steps / speed. Then it stands, with its devices, until all jobs are
/// done with theirs: the round is over, and those that stay placed begin the next lease. A job
/// completes at the end of its last lease, and the devices stay unused until the round is over. To
/// start, to stop and to move cost nothing.
///
/// Of a round that is over one job tells, the first that is placed: it has ended an epoch and
/// stands, so that the policy is asked.
class RoundProgress {
 public:
  /// `FutureKind::Tick` of this subject: `end_if_done`.
  static constexpr std::uint32_t kRound = 1;

  /// Both outlive the object.
  RoundProgress(ClusterState& cluster, const WorkerSpeeds& speeds)
      : cluster_(cluster), speeds_(speeds) {}

  /// Whether the job's progress follows these rules.
  bool runs(const LiveJob& job) const {
    return job.job.speeds != nullptr &&
           cluster_.scenario.timing.mode == scenarios::TimingMode::Pollux;
  }

  /// The job's workers are where the plan put them.
  void place(LiveJob& job);

  /// The job that it shares devices with has come, or is gone. A lease that has just begun begins
  /// anew at the speed of now; of one that is under way the rest goes at the speed of its
  /// beginning.
  void partner_changed(LiveJob& job);

  /// The job has no workers any more. What it did of its lease counts.
  void release(LiveJob& job);

  /// The future of kind Complete that `place` pushed; whether the job's work is done.
  bool lease_done(LiveJob& job);

  /// Begins a new round where all leases are done with.
  void end_if_done();

 private:
  struct Lease {
    double speed = 0;  ///< Steps per second; 0: it does not run on these devices.
    double steps = 0;
    Instant begin;
    bool runs = false;  ///< Not done with yet.
    std::int32_t rounds = 0;
  };

  void begin(LiveJob& job, Lease& lease);
  static void add(LiveJob& job, double steps);
  void tell(LiveJob& job, const Lease& lease, double rate);

  ClusterState& cluster_;
  const WorkerSpeeds& speeds_;
  std::map<JobId, Lease> leases_;  // Of placed jobs.
  std::int64_t running_ = 0;       // Leases that are not done with.
};

}  // namespace orrery::sim
