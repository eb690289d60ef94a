// jobs.csv in the column order of Batsim, so that evalys and other tools read it as it is.
#pragma once

#include <iosfwd>
#include <string_view>

#include "sim/results/allocation_book.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// Writes one row per job in the order of submission (JobId), a header first.
///
/// Times are seconds with six decimals; `starting_time` is the first allocation, `finish_time` the
/// end in the world, `execution_time` what lies between them, restarts and waits after a preemption
/// included. `stretch` is turnaround / execution, empty where execution takes no time. Of a job
/// that has not ended, or never started, the fields that need it are empty.
///
/// `final_state`: COMPLETED_SUCCESSFULLY; COMPLETED_KILLED where a user stopped it; REJECTED where
/// it failed before it ever started; COMPLETED_FAILED otherwise; RUNNING or SUBMITTED where the run
/// ended first. `requested_time` is -1 where none is stated, `consumed_energy` always -1.
/// `metadata` holds "restarts=1;reallocations=0;preemptions=0;node_losses=0".
///
/// `allocations` may be null: `allocated_resources` is empty then.
void write_jobs_csv(std::ostream& out,
                    std::string_view workload_name,
                    const JobTable& jobs,
                    const AllocationBook* allocations);

}  // namespace orrery::sim
