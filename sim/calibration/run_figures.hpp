// What became of each job of a run, read from the journal: the same figures of a simulated and of a
// real run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/driver/state_store.hpp"
#include "core/job/job_enums.hpp"
#include "sim/rehearsal/recorded_run.hpp"

namespace orrery::sim {

/// What a job does at a time, from its submission to its end.
enum class JobTime : std::uint8_t {
  Waiting,   ///< It has been allocated nothing yet.
  Starting,  ///< Until all of its workers were ready for the first time.
  Whole,     ///< All work.
  Partial,   ///< Some work: others start, are stopped, or are lost.
  Down,      ///< None works: all were stopped or lost.
};

inline constexpr std::size_t kJobTimes = 5;

struct RecoveryFigure {
  Reason cause = Reason::WorkerFailed;
  /// From when the controller noticed the failure to the recovery; nothing: none was.
  std::optional<double> took_s;
};

struct JobFigures {
  std::string name;
  JobPhase phase = JobPhase::Pending;       ///< At the end of the run.
  std::optional<double> completed_s;        ///< From submission to the end, where it came.
  std::array<double, kJobTimes> spent_s{};  ///< [JobTime].
  std::map<std::int32_t, double> step_s;    ///< Seconds per unit of work, by replicas.
  std::vector<RecoveryFigure> recoveries;   ///< In the order of the failures.
};

struct RunFigures {
  std::vector<JobFigures> jobs;  ///< In the order of submission; one that was refused is left out.
  std::string decisions;         ///< The log, as in sim/expectations/decision_log.hpp.
};

/// Reads a journal. `units`: all work of jobs, by their full names, where that is known; without it
/// the last stretch of a job tells nothing of its steps. `noise` as in observed_times. Errors: as
/// read_recorded_run.
Result<RunFigures> run_figures(StateStore& store,
                               const std::string& name,
                               const std::map<std::string, double>& units,
                               Duration noise);

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::JobTime> {
  static constexpr std::array kNames{"waiting", "starting", "whole", "partial", "down"};
};

}  // namespace orrery
