// Collects what a run's notices tell, and makes the summary of it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "sim/results/duration_histogram.hpp"
#include "sim/results/job_ratios.hpp"
#include "sim/results/job_table.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// What the notices do not tell.
struct RunFacts {
  std::string scenario;
  std::string policy;
  std::string world;
  std::uint64_t seed = 0;
  Instant end;               ///< The world's time when the run stopped.
  std::int64_t devices = 0;  ///< Of the whole cluster as declared.
  std::uint64_t events = 0;  ///< Journal records.
  std::string state_digest;
  Duration wall;  ///< Of this machine.
  double peak_rss_mb = 0;
};

/// Feed it every submission and every notice in order, then ask once. Under 100 bytes a job, the
/// names of ten letters included; about as many again for a job that lost all its devices.
///
/// Times: a job starts at `at` of its first allocation, since that is when the devices are taken;
/// it ends at `occurred_at` of its last phase, since that is when it ended in the world. Devices
/// count as allocated from the `at` of one `Allocated` notice to that of the next, a part of one as
/// that part.
class Metrics {
 public:
  /// A job was submitted, in the order of ids; before any notice about it.
  void submitted(JobId id, const JobFacts& facts);

  void observe(const Notice& notice);

  /// A notice about the job comes soon: its row is fetched meanwhile.
  void expect(JobId id) const { jobs_.expect(id); }

  /// Why a job that is not over is in its phase when the run ends. Notices tell of phases: a reason
  /// that changes within one is known to the controller alone.
  void left_with(JobId id, Reason reason);

  /// The policy was asked once, and took so long on this machine.
  void decided(Duration wall);

  const JobTable& jobs() const { return jobs_; }

  /// How long jobs held nothing after their start.
  const AwayTimes& away() const { return away_; }

  /// Jobs over so far, either way; what a progress bar shows.
  std::uint64_t jobs_over() const { return jobs_over_; }

  /// When the makespan of a run that stops at `end` is over: the last end of a job; `end` where one
  /// still runs, or none ever ended.
  Instant makespan_end(Instant end) const;

  /// The account of the workload's rows and the unmet expectations are left for the caller.
  Summary summarise(const RunFacts& facts) const;

 private:
  void advance(Instant at);
  void phase_changed(const Notice& notice, JobOutcome& job);
  void allocated(const Notice& notice, JobOutcome& job);
  void counted(const Notice& notice, JobOutcome& job);
  void hold(JobOutcome& job, std::int32_t thousandths);

  JobTable jobs_;
  AwayTimes away_;
  DurationHistogram decisions_;
  Instant now_ = Instant::zero();
  std::int64_t thousandths_held_ = 0;
  __int128 thousandths_ns_ = 0;  // 131,072 devices fill 63 bits within two minutes.
  std::int64_t waiting_ = 0;
  std::int64_t waiting_max_ = 0;
  std::uint64_t jobs_over_ = 0;
};

/// Largest resident memory of this process so far, in 10^6 bytes.
double peak_rss_mb();

}  // namespace orrery::sim
