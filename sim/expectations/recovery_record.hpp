// What failed in a run, how it was recovered from, and what that cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"

namespace orrery::sim {

/// One incident as the notices tell it.
struct IncidentRecord {
  JobId job;  ///< None: of a node alone.
  std::uint32_t number = 0;
  Reason cause = Reason::WorkerFailed;
  Instant at;       ///< When it happened.
  Instant noticed;  ///< When it was opened.
  /// When the job worked again, or had succeeded. One that a wider incident took over has recovered
  /// with that one.
  Instant recovered = Instant::never();
};

/// The recoveries of one job, or of all jobs of a run together.
class RecoveryRecord {
 public:
  /// Every notice about the job, or every notice.
  void on_notice(const Notice& notice);

  const std::vector<IncidentRecord>& incidents() const { return incidents_; }

  std::int32_t incidents_of(Reason cause) const;

  /// How often one worker was started again. Meaningful for one job.
  std::int32_t restarts_of(RoleIndex role, std::int32_t local_rank) const;

  /// How often any worker was.
  std::int32_t worker_restarts() const { return worker_restarts_; }

  /// Work that was done again, in the job's unit.
  double lost_work() const { return lost_work_; }

  /// Mean time from an incident to its recovery; forever where one never was, zero without any.
  Duration mean_time_to_recovery() const;

  /// The longest such time; as above.
  Duration longest_recovery() const;

 private:
  /// Of an incident that closes; the job may have failed for good, or have another one.
  void recover_if_at_work(JobId job, Instant at);

  std::vector<IncidentRecord> incidents_;
  std::map<std::pair<JobId, std::uint32_t>, std::size_t> place_of_;  ///< By job and number.
  std::map<JobId, JobPhase> phases_;
  std::map<std::pair<RoleIndex, std::int32_t>, std::int32_t> restarts_;
  std::int32_t worker_restarts_ = 0;
  double lost_work_ = 0;
};

}  // namespace orrery::sim
