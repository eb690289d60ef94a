// How long jobs of a state still run, by the state alone: as is most likely, or drawn.
#pragma once

#include <optional>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "core/state/state.hpp"

namespace orrery::sim {

/// How long a job still runs at its usual size.
struct Remaining {
  Duration left;  ///< At least a millisecond.
  RemainingKnown known = RemainingKnown::Nothing;
};

/// By the job's last report, less what has passed since; nothing where there is none.
std::optional<Remaining> reported_remaining(const JobRow& row, Instant now);

/// What the jobs of a state that succeeded tell of the others.
class RunHistory {
 public:
  explicit RunHistory(const State& state);

  /// By the job's last report, else its stated time, else these jobs. A stated time is corrected by
  /// the median of how much of theirs such jobs took, where enough of them are known.
  Remaining remaining(const JobState& job, Instant now) const;

  /// As likely as the state makes it: a stated time is corrected by one of these jobs, drawn from
  /// those that leave it something to do; a median is replaced by one of these jobs; where nothing
  /// is known, it is exponential. Reports are taken as they are.
  Remaining drawn(const JobState& job, Instant now, Random& random) const;

 private:
  Duration stated(const JobRow& row, double part) const;

  std::vector<Duration> runs_;  ///< Ascending.
  std::vector<double> parts_;   ///< Time worked over time stated, ascending.
};

}  // namespace orrery::sim
