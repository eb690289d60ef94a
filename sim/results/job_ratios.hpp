// How jobs fared beside how they would have alone: slowdown and finish-time fairness.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// How long jobs that had started held nothing. Most jobs never do, and take no memory.
class AwayTimes {
 public:
  /// The job holds nothing from `at` on; called again before `back`, it changes nothing.
  void left(JobId job, Instant at);

  /// It holds something again, or is over; a job that was not away stays so.
  void back(JobId job, Instant at);

  /// Zero for a job that never was; a job that is away now counts up to when it left.
  Duration of(JobId job) const;

 private:
  struct Away {
    Duration total;
    Instant since = Instant::never();  ///< Never: it is not away.
  };

  std::map<JobId, Away> jobs_;
};

/// Of one job that succeeded. Both are 1 for a job that took no time.
struct JobRatios {
  JobId job;
  double slowdown = 1;
  double fairness = 1;
};

/// Time with devices that is counted at the least: a job of a second that waits for a minute would
/// else outweigh a hundred others.
inline constexpr Duration kAloneAtLeast = Duration::seconds(10);

/// Jobs that succeeded, in order of their ids.
///
/// With JCT from submission to the end, and `alone` the time with devices, but at least
/// `kAloneAtLeast`:
///
/// slowdown   max(1, JCT / alone): bounded slowdown, of Feitelson and Rudolph, "Metrics and
///            Benchmarking for Parallel Job Scheduling" (JSSPP 1998), but for pauses after the
///            start, which count as waiting.
/// fairness   JCT / (alone * max(1, c)), where c is the mean over the job's life of what all jobs
///            that were there asked for, in devices of the cluster: the ratio rho of Mahajan et
///            al., "Themis" (NSDI 2020), with contention as in Zheng et al., "Shockwave" (NSDI
///            2023). Above 1 a job took longer than in an equal share of the cluster. What an
///            elastic job asks for is its minimum, and that it was kept small is not seen.
///
/// `devices`: of the cluster, as declared; without any there is no contention. `end`: of the run.
std::vector<JobRatios> job_ratios(const JobTable& jobs,
                                  const AwayTimes& away,
                                  std::int64_t devices,
                                  Instant end);

}  // namespace orrery::sim
