// What must hold of a run. The meaning of every field is in docs/scenario_format.md; judged by
// sim/expectations/expectations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/record/command.hpp"

namespace orrery::scenarios {

/// A worker by its lasting name.
struct WorkerName {
  RoleIndex role;
  std::int32_t local_rank = 0;  ///< Index inside the role.
  std::string text;             ///< As it is written, for messages: "learner/0", "3".
};

/// A worker, and how often it was started again.
struct WorkerRestarts {
  WorkerName worker;
  std::int32_t restarts = 0;
};

/// Where a worker must sit.
struct ExpectedSeat {
  WorkerName worker;
  NodeId node;
  std::optional<std::uint64_t> devices;   ///< Exactly these; bit i: device i of the node.
  std::optional<std::uint64_t> hardware;  ///< Likewise of the node's custom hardware.
};

/// How many incidents had a cause.
struct IncidentCount {
  Reason cause = Reason::WorkerFailed;
  std::int32_t count = 0;
};

/// One entry of `expect`; every field that is set must hold.
struct Expectation {
  Expectation();  // All six are compiled once, in the source.
  Expectation(const Expectation& other);
  Expectation(Expectation&& other) noexcept;
  Expectation& operator=(const Expectation& other);
  Expectation& operator=(Expectation&& other) noexcept;
  ~Expectation();

  int line = 0;
  std::string job;  ///< Full name; empty for those about the whole run.

  // Where a job stands.
  std::optional<JobPhase> phase;
  std::optional<std::int32_t> replicas;
  Instant after = Instant::zero();           ///< These, `says` and `sits` must be met from here ...
  Instant by = Instant::never();             ///< ... until here; never: they must hold at the end.
  std::optional<std::uint32_t> after_fault;  ///< In place of `after`: when this fault strikes.
  Duration within = Duration::forever();     ///< With `after_fault`: in place of `by`.
  std::vector<JobPhase> phases;              ///< Every phase in order, when not empty.
  std::optional<Reason> reason;              ///< Of the last change of phase.
  std::string says;  ///< Part of the job's message, when not empty; as `phase`.
  std::optional<Duration> waited_less_than;  ///< Submission to first allocation.

  // Counters of a job.
  std::optional<std::uint32_t> restarts;
  std::optional<std::uint32_t> role_restarts;
  std::optional<std::uint32_t> job_restarts;
  std::optional<std::uint32_t> reschedules;
  std::optional<std::uint32_t> preemptions;
  std::optional<std::uint32_t> node_losses;
  std::optional<std::uint32_t> generation;

  // Its workers and its work.
  std::vector<WorkerName> restarted;      ///< Each was started again at least once.
  std::vector<WorkerName> not_restarted;  ///< None ever was.
  std::vector<WorkerRestarts> worker_restarts;
  std::vector<ExpectedSeat> sits;  ///< All at one instant, of the window where there is one.
  bool untouched = false;  ///< No worker was started again, and its membership never changed.
  std::optional<double> lost_work_less_than;  ///< In the job's unit, all losses together.

  // Incidents, of the job or of all jobs.
  std::optional<std::int32_t> incidents;  ///< Altogether.
  std::vector<IncidentCount> incidents_of;
  std::optional<Duration> mttr_less_than;    ///< Mean from an incident to its recovery.
  std::optional<Duration> recovered_within;  ///< Longest.
  std::optional<std::uint32_t> nodes_relaunched;

  // The whole run.
  std::optional<std::int64_t> jobs_finished;
  std::optional<std::int64_t> jobs_failed;
  bool no_worker_restarted = false;
  std::optional<std::vector<NodeId>> excluded;  ///< Exactly these nodes at the end; sorted.
  std::optional<std::int32_t> spares_used;
  std::optional<std::uint32_t> epochs;          ///< Leaders that took over, the first included.
  std::optional<std::uint64_t> events_at_most;  ///< Records of the journal.
  std::optional<Ignored> ignored;               ///< A report was ignored for this reason ...
  std::int32_t at_least = 1;                    ///< ... at least so often.
};

}  // namespace orrery::scenarios
