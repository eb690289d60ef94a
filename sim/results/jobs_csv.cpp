#include "sim/results/jobs_csv.hpp"

#include <cstdio>
#include <ostream>
#include <string>

#include "sim/results/time_text.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata\n";

constexpr std::size_t kFlushBytes = 1 << 20;

/// Quoted only where it must be.
void append_text(std::string_view text, std::string& out) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string_view final_state(const JobOutcome& job) {
  if (!job.is_over()) return job.has_started() ? "RUNNING" : "SUBMITTED";
  if (job.phase == JobPhase::Succeeded) return "COMPLETED_SUCCESSFULLY";
  if (job.reason == Reason::StoppedByUser) return "COMPLETED_KILLED";
  return job.has_started() ? "COMPLETED_FAILED" : "REJECTED";
}

/// A time field with its comma; empty where the time is not known.
void append_time(bool known, std::int64_t ns, std::string& out) {
  if (known) append_seconds_6(ns, out);
  out += ',';
}

void append_stretch(const JobOutcome& job, std::string& out) {
  const Duration execution = job.finished - job.started;
  if (execution.ns > 0) {
    const double stretch =
        static_cast<double>((job.finished - job.submitted).ns) / static_cast<double>(execution.ns);
    char text[64];
    out.append(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.6f", stretch)));
  }
}

void append_times(const JobOutcome& job, std::string& out) {
  const bool started = job.has_started();
  const bool ended = started && job.is_over();
  append_time(started, job.started.ns, out);
  append_time(ended, (job.finished - job.started).ns, out);
  append_time(ended, job.finished.ns, out);
  append_time(started, (job.started - job.submitted).ns, out);
  append_time(ended, (job.finished - job.submitted).ns, out);
  if (ended) append_stretch(job, out);
  out += ',';
}

void append_row(JobId id,
                std::string_view workload_name,
                const JobTable& jobs,
                const AllocationBook* allocations,
                std::string& out) {
  const JobOutcome& job = jobs[id];
  append_text(jobs.name(id), out);
  out += ',';
  append_text(workload_name, out);
  out += ',';
  append_text(jobs.profile(job), out);
  out += ',';
  append_time(true, job.submitted.ns, out);
  out += std::to_string(job.devices_requested) + ',';
  const bool stated = job.time_requested.ns > 0 && !job.time_requested.is_forever();
  append_time(true, stated ? job.time_requested.ns : Duration::seconds(-1).ns, out);
  out += job.phase == JobPhase::Succeeded ? "1," : "0,";
  out += final_state(job);
  out += ',';
  append_times(job, out);
  if (allocations != nullptr) allocations->append_set(id, out);
  out += ",-1,restarts=" + std::to_string(job.restarts);
  out += ";reallocations=" + std::to_string(job.reschedules);
  out += ";preemptions=" + std::to_string(job.preemptions);
  out += ";node_losses=" + std::to_string(job.node_losses);
  out += '\n';
}

}  // namespace

void write_jobs_csv(std::ostream& out,
                    std::string_view workload_name,
                    const JobTable& jobs,
                    const AllocationBook* allocations) {
  std::string text(kHeader);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobId id(static_cast<std::uint32_t>(i));
    if (!jobs.contains(id)) continue;
    append_row(id, workload_name, jobs, allocations, text);
    if (text.size() < kFlushBytes) continue;
    out << text;
    text.clear();
  }
  out << text;
}

}  // namespace orrery::sim
