// From what a journal tells of jobs to what they will do under other decisions: how much work they
// have, how fast it goes on, how long they take to start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_job.hpp"
#include "sim/rehearsal/recorded_run.hpp"

namespace orrery::sim {

/// Where a job's work is known from.
enum class WorkKnown : std::uint8_t {
  Observed,  ///< It came to its end, at speeds that did not vary at one size.
  Averaged,  ///< It came to its end; its speed varied, so means over its sizes stand for it.
  Timed,     ///< It came to its end, and never told of progress: how long it ran is its work.
  Reported,  ///< Unfinished: what it said that remains.
  Stated,    ///< Unfinished: the run time that its user stated.
  History,   ///< Unfinished: the median of like jobs that came to their end.
  Nothing,   ///< Unfinished, and no other job tells: as long again as it has run.
};

/// What a job will do in a what-if.
struct JobTruth {
  ModelJob job;
  WorkKnown known = WorkKnown::Observed;
  bool sizes_assumed = false;  ///< It may run at a size at which it never did.
};

/// Something that the journal does not tell.
struct Assumption {
  std::string setting;   ///< The path of the setting that it gives, such as "timing.stop".
  std::string sentence;  ///< What is assumed, and why.
};

/// What a recorded run comes to when others decide.
struct RunTruth {
  std::vector<JobTruth> jobs;  ///< [submission].
  scenarios::Timing timing;    ///< What starts, stops and changes cost, as observed.
  Duration planner_latency;
  std::vector<Assumption> assumed;
};

/// What failures took from work; entry i of both is of the same failure.
struct ObservedLosses {
  std::vector<double> lost_s;         ///< Seconds of work that were lost.
  std::vector<double> saved_after_s;  ///< From the begin of the work to what was saved of it.
  std::vector<Instant> from;          ///< The last report before what took it,
  std::vector<Instant> to;            ///< and the first one after.
  std::vector<std::size_t> job;
};

/// Where `rescale` is what a change of membership costs.
ObservedLosses observed_losses(const RecordedRun& run, Duration rescale);

/// The truth behind a recorded run.
///
/// Completions. Work advances by `rate` from each report on; a job's work is what it had done when
/// it ended. Where a job tells the same rate whenever it has the same size, its work is exact, so
/// that under the same decisions it ends at the same nanosecond.
///
/// Starts, stops, restores and pauses take what most of those that were observed took, or the
/// median where none is usual. After a failure without all of its work left, the time between
/// checkpoints is the longest that fits all losses. `rescale_said` is the pause of a rescale where
/// the journal does not tell it: of which no report came after one.
RunTruth truth_of(const RecordedRun& run, std::optional<Duration> rescale_said = {});

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::WorkKnown> {
  static constexpr std::array kNames{
      "observed", "averaged", "timed", "reported", "stated", "history", "nothing"};
};

}  // namespace orrery
