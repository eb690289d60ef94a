// evalys.csv: stretches of constant allocation in the columns of Batsim, so that evalys and other
// tools read it as it is; and segments.csv, which says what each of them is.
#pragma once

#include <iosfwd>
#include <string_view>

#include "sim/reports/timeline.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// Writes the jobs in the order of submission (JobId), a header first.
///
/// A job whose devices never changed is one row. Times are seconds with six decimals;
/// `starting_time` is the first allocation, `finish_time` the end in the world, `execution_time`
/// what lies between them. `stretch` is turnaround / execution, empty where execution takes no
/// time. Of a job that has not ended, or never started, the fields that need it are empty.
///
/// Any other job is one row for each of its segments, named `id#k`, as if segment k were submitted
/// when segment k - 1 ended: so no device is two rows' at a time, and waiting times add up. The
/// columns about the whole job (requested, success, final state, restarts) repeat in each row, and
/// `metadata` begins with "segment=k/n;". docs/results.md says why; `write_segments_csv` joins
/// them. A job of which the timeline left segments out is one row without allocated resources.
///
/// `final_state`: COMPLETED_SUCCESSFULLY; COMPLETED_KILLED where a user stopped it;
/// COMPLETED_WALLTIME_REACHED where its run deadline did; REJECTED where it failed before it ever
/// started; COMPLETED_FAILED otherwise; RUNNING or SUBMITTED where the run
/// ended first. `requested_time` is -1 where none is stated, `consumed_energy` always -1.
/// `metadata` holds "restarts=1;reallocations=0;preemptions=0;node_losses=0".
///
/// `timeline` is closed; it may be null: every job is one row, and `allocated_resources` is empty.
void write_evalys_csv(std::ostream& out,
                      std::string_view workload_name,
                      const JobTable& jobs,
                      const Timeline* timeline);

/// Writes segments.csv, which joins the rows `id#k` of evalys.csv: one row for each, and none for a
/// job of one row. Columns: `job_id` (of the job), `segment` (k), `segments` (n), `row_id` (id#k),
/// `from`, `to` (seconds; `to` empty where the run ended first), `reason` (why the allocation
/// became this one), `phase`, `generation` (when it began), `devices` (in devices; shares count
/// their part), `allocated_resources`, `work_done` (of the job at `to`, in its unit;
/// empty where nothing was reported since `from`).
void write_segments_csv(std::ostream& out, const JobTable& jobs, const Timeline& timeline);

}  // namespace orrery::sim
