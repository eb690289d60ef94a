// jobs.csv: one row for each job, for people and their data frames.
#pragma once

#include <iosfwd>
#include <string_view>

#include "sim/reports/timeline.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// Writes the jobs in the order of submission (JobId), a header first. Columns that mean what they
/// mean to Batsim have its names; docs/results.md describes each. Times are seconds with six
/// decimals: `starting_time` is the first allocation, `finish_time` the end in the world,
/// `turnaround_time` the end - the submission. Whatever is not known yet is empty.
///
/// What the job held (`held_time` and the columns after it) is summed over the segments of
/// `timeline`, which is closed, up to the run's end where the job still held devices then. It is
/// empty where `timeline` is null or has left out segments of the job.
void write_jobs_csv(std::ostream& out,
                    std::string_view workload_name,
                    const JobTable& jobs,
                    const Timeline* timeline);

}  // namespace orrery::sim
