// The jobs that have ended, as a journal tells of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/control/status.hpp"
#include "core/driver/state_store.hpp"
#include "core/job/job_enums.hpp"

namespace orrery::cli {

/// One job that has ended.
struct EndedJob {
  JobId id;
  std::string name;
  std::string user;   ///< May be empty.
  std::string group;  ///< May be empty.
  JobPhase state = JobPhase::Succeeded;
  Reason reason = Reason::Submitted;
  std::string message;
  Instant submitted;
  Instant started = Instant::never();  ///< Never: it had no worker.
  Instant ended;
  std::int32_t devices = 0;  ///< The most that it held at once.
  double device_seconds = 0;
  std::uint32_t restarts = 0;
  std::int32_t exit_code = 0;           ///< Of the latest failure; 0: none.
  std::vector<FailureStatus> failures;  ///< The latest, oldest first.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("id", self.id);
    v.field("name", self.name);
    v.field("user", self.user);
    v.field("group", self.group);
    v.field("state", self.state);
    v.field("reason", self.reason);
    v.field("message", self.message);
    v.field("submitted", self.submitted);
    v.field("started", self.started);
    v.field("ended", self.ended);
    v.field("devices", self.devices);
    v.field("device_seconds", self.device_seconds);
    v.field("restarts", self.restarts);
    v.field("exit_code", self.exit_code);
    v.field("failures", self.failures);
  }
};

/// Which ended jobs are wanted. All that is given must hold.
struct HistoryFilter {
  std::optional<JobPhase> state;
  std::string user;                         ///< Empty: of all users.
  std::string job;                          ///< Full name; empty: any.
  Instant ended_from;                       ///< Ended at this instant or later,
  Instant ended_before = Instant::never();  ///< and before this one.

  bool takes(const EndedJob& ended) const;
};

/// Folds the journal and returns the jobs that ended in it, in the order of their ids; of a name
/// that was used again each job. `begin`: the snapshot to begin with, where the first records are
/// gone; jobs that had ended before, and were not retained in it, are gone with them. Errors: the
/// journal's.
Result<std::vector<EndedJob>> ended_jobs(StateStore& store,
                                         const std::optional<StoredSnapshot>& begin,
                                         const HistoryFilter& filter);

}  // namespace orrery::cli
