// The part of the storm's checker that follows each job: bounds, places, counters, charges, work.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/spec.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "sim/storm/booking_check.hpp"
#include "sim/storm/process_check.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// How much work a job truly has, by its full name.
struct TrueWork {
  double units = 0;     ///< 0: its workers end by themselves.
  double rate_max = 0;  ///< Units per second that it can do at most.
  /// By a script a worker exits with success before the work is done.
  bool may_end_early = false;
};

/// The counters of one job as a leader has them.
struct JobCounts {
  JobId job;
  std::string name;
  bool final = false;
  bool retired = false;  ///< Ended and forgotten: it has no counters any more.
  std::array<std::uint32_t, EnumNames<Counter>::kNames.size()> counters{};
};

class JobCheck {
 public:
  JobCheck(std::map<std::string, TrueWork> work, ProcessCheck& processes, Violations& found)
      : work_(std::move(work)), processes_(processes), found_(found), bookings_(found) {}

  /// A record was appended.
  void appended(Sequence sequence, const Event& event);

  /// A leader stepped the record: what it told.
  void stepped(Instant now, Sequence sequence, std::span<const Notice> notices);

  /// Everything up to `last` will survive; what came after it is gone.
  void crashed(Sequence last);

  /// An order left its leader.
  void released(Instant now, const Command& order);

  /// True work done by a job, each time that it changes otherwise than by its rate.
  void worked(Instant now, JobId job, double done);

  /// A leader's state after the record `at`: nothing accepted is missing, no counter lower than
  /// what was told up to there. Records that a leader appended and did not live to step are told
  /// of here only.
  void leader_has(Instant now, Sequence at, std::span<const JobCounts> jobs);

  /// The role's bundle of a process; empty where the job is not known.
  Bundle bundle_of(JobId job, RoleIndex role) const;

  /// The roles that the role shares devices with by declaration.
  TurnKey turns_of_role(JobId job, RoleIndex role) const;

  /// "default.name", or the number where it is not known.
  std::string name_of(JobId job) const;

 private:
  struct Count {
    Sequence at;
    std::uint32_t value = 0;
  };

  struct Job {
    std::shared_ptr<const JobSpec> spec;
    TrueWork work;
    Sequence submitted;
    Sequence final = Sequence{UINT64_MAX};  ///< Record that ended it.
    /// Values of each counter with the record that told them, ascending.
    std::array<std::vector<Count>, EnumNames<Counter>::kNames.size()> counts;
    Generation generation;  ///< Of the last membership that was ordered.
    bool scaled = false;    ///< A user has asked for another number of replicas.
    /// What users have submitted anew in its place: its limits may be of these.
    std::vector<std::shared_ptr<const JobSpec>> anew;
    double done = 0;
    double safe = 0;  ///< Last checkpoint that the journal tells of.
    Instant as_of;
  };

  struct Submission {
    Sequence at;
    std::shared_ptr<const JobSpec> spec;
  };

  Job* find(JobId job);
  const Job* find(JobId job) const;
  void bind(Instant now, JobId id, const Submission& submission);
  void told(Instant now, Sequence sequence, const Notice& notice);
  void counted(Instant now, Sequence sequence, Job& job, const Notice& notice);
  void charged(Instant now, Sequence sequence, const Notice& notice);
  void ended(Instant now, Sequence sequence, Job& job, const Notice& notice);
  void check_membership(Instant now,
                        JobId id,
                        Generation generation,
                        const std::vector<WorkerStart>& members);

  std::map<std::string, TrueWork> work_;
  ProcessCheck& processes_;
  Violations& found_;
  BookingCheck bookings_;
  std::vector<Job> jobs_;            ///< By JobId.
  std::vector<Submission> unbound_;  ///< Journaled, id not told yet.
  std::uint16_t rules_ = 0;          ///< Of decisions, as the last epoch says.
  std::map<Sequence, std::vector<ProcessName>> failures_;  ///< By record, until it is stepped.
  std::map<ProcessName, Sequence> charges_;                ///< Failures that were charged.
};

}  // namespace orrery::sim
