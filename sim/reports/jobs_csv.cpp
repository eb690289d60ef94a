#include "sim/reports/jobs_csv.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include "sim/reports/job_fields.hpp"
#include "sim/reports/job_rows.hpp"
#include "sim/results/time_text.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kJobsHeader =
    "job_id,namespace,group,workload_name,profile,submission_time,requested_number_of_resources,"
    "requested_time,success,final_state,phase,reason,starting_time,execution_time,finish_time,"
    "waiting_time,turnaround_time,stretch,held_time,device_seconds,devices_mean,devices_max,"
    "allocations,restarts,reallocations,preemptions,node_losses\n";

/// What a job held in all.
struct Holdings {
  Duration time;                       ///< With devices.
  __int128 device_thousandths_ns = 0;  ///< Devices integrated over that time.
  std::int64_t device_thousandths_max = 0;
  std::uint32_t allocations = 0;
};

Holdings holdings_of(JobId id, const JobOutcome& job, const Timeline& timeline) {
  Holdings held;
  for_each_row(id, job, &timeline, [&](const JobRowSpan& row, std::uint32_t, std::uint32_t) {
    if (row.segment == nullptr) return;
    const Instant end = row.finished.is_never() ? row.segment->to : row.finished;
    const std::int64_t thousandths = thousandths_of(timeline.parts(*row.segment));
    held.time = held.time + (end - row.started);
    held.device_thousandths_ns += static_cast<__int128>(thousandths) * (end - row.started).ns;
    held.device_thousandths_max = std::max(held.device_thousandths_max, thousandths);
    ++held.allocations;
  });
  return held;
}

void append_holdings(const Holdings& held, std::string& out) {
  append_time_field(true, held.time.ns, out);
  append_device_seconds_6(held.device_thousandths_ns / 1000, out);
  out += ',';
  if (held.time.ns > 0)
    append_fixed_6(static_cast<double>(held.device_thousandths_ns) /
                       (1000 * static_cast<double>(held.time.ns)),
                   out);
  out += ',';
  append_decimal(static_cast<double>(held.device_thousandths_max) / 1000, out);
  out += ',';
  append_integer(held.allocations, out);
}

/// Whether all that the job held was kept.
bool knows_holdings(JobId id, const Timeline* timeline) {
  return timeline != nullptr && timeline->segments_of(id).size() == timeline->segment_count(id);
}

void append_job_times(const JobOutcome& job, std::string& out) {
  const bool started = job.has_started();
  const bool ended = job.is_over();
  append_time_field(started, job.started.ns, out);
  append_time_field(started && ended, (job.finished - job.started).ns, out);
  append_time_field(ended, job.finished.ns, out);
  append_time_field(started, (job.started - job.submitted).ns, out);
  append_time_field(ended, (job.finished - job.submitted).ns, out);
  if (started && ended)
    append_stretch_field(job.finished - job.submitted, job.finished - job.started, out);
  else
    out += ',';
}

void append_job(JobId id,
                std::string_view workload_name,
                const JobTable& jobs,
                const Timeline* timeline,
                std::string& out) {
  const JobOutcome& job = jobs[id];
  const JobOwner& owner = jobs.owner(job);
  for (const std::string_view text : {jobs.name(id),
                                      std::string_view(owner.name_space),
                                      std::string_view(owner.group),
                                      workload_name,
                                      jobs.profile(job)}) {
    append_csv_text(text, out);
    out += ',';
  }
  append_time_field(true, job.submitted.ns, out);
  append_integer(job.devices_requested, out);
  out += ',';
  append_requested_time(job, out);
  out += job.phase == JobPhase::Succeeded ? "1," : "0,";
  out += final_state_of(job);
  out += ',';
  out += orrery::to_string(job.phase);
  out += ',';
  out += orrery::to_string(job.reason);
  out += ',';
  append_job_times(job, out);
  if (knows_holdings(id, timeline))
    append_holdings(holdings_of(id, job, *timeline), out);
  else
    out += ",,,,";
  for (const std::uint32_t count :
       {job.restarts, job.reschedules, job.preemptions, job.node_losses}) {
    out += ',';
    append_integer(count, out);
  }
  out += '\n';
}

}  // namespace

void write_jobs_csv(std::ostream& out,
                    std::string_view workload_name,
                    const JobTable& jobs,
                    const Timeline* timeline) {
  write_for_each_job(out, kJobsHeader, jobs, [&](JobId id, std::string& text) {
    append_job(id, workload_name, jobs, timeline, text);
  });
}

}  // namespace orrery::sim
