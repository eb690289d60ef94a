#include "sim/reports/jobs_csv.hpp"

#include <bit>
#include <charconv>
#include <cstdio>
#include <ostream>
#include <span>
#include <string>

#include "sim/reports/csv_text.hpp"
#include "sim/reports/device_sets.hpp"
#include "sim/reports/job_rows.hpp"
#include "sim/results/time_text.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata\n";

constexpr std::string_view kSegmentHeader =
    "job_id,segment,segments,row_id,from,to,reason,phase,generation,devices,allocated_resources,"
    "work_done\n";

std::string_view final_state(const JobOutcome& job) {
  if (!job.is_over()) return job.has_started() ? "RUNNING" : "SUBMITTED";
  if (job.phase == JobPhase::Succeeded) return "COMPLETED_SUCCESSFULLY";
  if (job.reason == Reason::StoppedByUser) return "COMPLETED_KILLED";
  if (job.reason == Reason::RunDeadline) return "COMPLETED_WALLTIME_REACHED";
  return job.has_started() ? "COMPLETED_FAILED" : "REJECTED";
}

/// A time field with its comma; empty where the time is not known.
void append_time(bool known, std::int64_t ns, std::string& out) {
  if (known) append_seconds_6(ns, out);
  out += ',';
}

void append_stretch(const JobRowSpan& row, std::string& out) {
  const Duration execution = row.finished - row.started;
  if (execution.ns > 0) {
    const double stretch =
        static_cast<double>((row.finished - row.submitted).ns) / static_cast<double>(execution.ns);
    char text[64];
    out.append(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.6f", stretch)));
  }
}

void append_times(const JobRowSpan& row, std::string& out) {
  const bool started = !row.started.is_never();
  const bool ended = started && !row.finished.is_never();
  append_time(started, row.started.ns, out);
  append_time(ended, (row.finished - row.started).ns, out);
  append_time(ended, row.finished.ns, out);
  append_time(started, (row.started - row.submitted).ns, out);
  append_time(ended, (row.finished - row.submitted).ns, out);
  if (ended) append_stretch(row, out);
  out += ',';
}

void append_row_id(std::string_view name, std::uint32_t k, std::string& out) {
  append_csv_text(k == 0 ? std::string(name) : std::string(name) + "#" + std::to_string(k), out);
}

/// Writes the rows of one job after the other.
class JobWriter {
 public:
  JobWriter(std::string_view workload_name, const JobTable& jobs, const Timeline* timeline)
      : workload_name_(workload_name), jobs_(jobs), timeline_(timeline) {}

  void append(JobId id, std::string& out) const {
    for_each_row(
        id, jobs_[id], timeline_, [&](const JobRowSpan& row, std::uint32_t k, std::uint32_t n) {
          put(id, row, k, n, out);
        });
  }

 private:
  void put(
      JobId id, const JobRowSpan& row, std::uint32_t k, std::uint32_t n, std::string& out) const {
    const JobOutcome& job = jobs_[id];
    append_row_id(jobs_.name(id), k, out);
    out += ',';
    append_csv_text(workload_name_, out);
    out += ',';
    append_csv_text(jobs_.profile(job), out);
    out += ',';
    append_time(true, row.submitted.ns, out);
    out += std::to_string(job.devices_requested) + ',';
    const bool stated = job.time_requested.ns > 0 && !job.time_requested.is_forever();
    append_time(true, stated ? job.time_requested.ns : Duration::seconds(-1).ns, out);
    out += job.phase == JobPhase::Succeeded ? "1," : "0,";
    out += final_state(job);
    out += ',';
    append_times(row, out);
    if (row.segment != nullptr) append_device_set(*timeline_, timeline_->parts(*row.segment), out);
    out += ",-1,";
    if (k > 0) out += "segment=" + std::to_string(k) + "/" + std::to_string(n) + ";";
    out += "restarts=" + std::to_string(job.restarts);
    out += ";reallocations=" + std::to_string(job.reschedules);
    out += ";preemptions=" + std::to_string(job.preemptions);
    out += ";node_losses=" + std::to_string(job.node_losses);
    out += '\n';
  }

  std::string_view workload_name_;
  const JobTable& jobs_;
  const Timeline* timeline_;
};

/// Devices of all parts in thousandths; shares count their part.
std::int64_t thousandths_of(std::span<const DevicePart> parts) {
  std::int64_t sum = 0;
  for (const DevicePart& part : parts) sum += part.thousandths * std::popcount(part.devices);
  return sum;
}

void append_number(double number, std::string& out) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_segment(std::string_view name,
                    const JobRowSpan& row,
                    std::uint32_t n,
                    const Timeline& timeline,
                    std::string& out) {
  const Segment& segment = *row.segment;
  append_csv_text(name, out);
  out += ',' + std::to_string(segment.k) + ',' + std::to_string(n) + ',';
  append_row_id(name, segment.k, out);
  out += ',';
  append_time(true, row.started.ns, out);
  append_time(!row.finished.is_never(), row.finished.ns, out);
  out += orrery::to_string(segment.reason);
  out += ',';
  out += orrery::to_string(segment.phase);
  out += ',' + std::to_string(segment.generation.value) + ',';
  append_number(static_cast<double>(thousandths_of(timeline.parts(segment))) / 1000, out);
  out += ',';
  append_device_set(timeline, timeline.parts(segment), out);
  out += ',';
  if (segment.work_done >= 0) append_number(segment.work_done, out);
  out += '\n';
}

/// Calls `append(id, text)` for every job, and hands the text on in large pieces.
template <class Append>
void write_jobs(std::ostream& out, std::string text, const JobTable& jobs, Append append) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobId id(static_cast<std::uint32_t>(i));
    if (!jobs.contains(id)) continue;
    append(id, text);
    if (text.size() < kCsvFlushBytes) continue;
    out << text;
    text.clear();
  }
  out << text;
}

}  // namespace

void write_jobs_csv(std::ostream& out,
                    std::string_view workload_name,
                    const JobTable& jobs,
                    const Timeline* timeline) {
  const JobWriter writer(workload_name, jobs, timeline);
  write_jobs(out, std::string(kHeader), jobs, [&](JobId id, std::string& text) {
    writer.append(id, text);
  });
}

void write_segments_csv(std::ostream& out, const JobTable& jobs, const Timeline& timeline) {
  write_jobs(out, std::string(kSegmentHeader), jobs, [&](JobId id, std::string& text) {
    for_each_row(
        id, jobs[id], &timeline, [&](const JobRowSpan& row, std::uint32_t k, std::uint32_t n) {
          if (k > 0) append_segment(jobs.name(id), row, n, timeline, text);
        });
  });
}

}  // namespace orrery::sim
