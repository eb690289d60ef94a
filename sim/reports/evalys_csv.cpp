#include "sim/reports/evalys_csv.hpp"

#include <ostream>
#include <string>

#include "sim/reports/csv_text.hpp"
#include "sim/reports/device_sets.hpp"
#include "sim/reports/job_fields.hpp"
#include "sim/reports/job_rows.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kEvalysHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata\n";

constexpr std::string_view kSegmentHeader =
    "job_id,segment,segments,row_id,from,to,reason,phase,generation,devices,allocated_resources,"
    "work_done\n";

void append_row_times(const JobRowSpan& row, std::string& out) {
  const bool started = !row.started.is_never();
  const bool ended = started && !row.finished.is_never();
  append_time_field(started, row.started.ns, out);
  append_time_field(ended, (row.finished - row.started).ns, out);
  append_time_field(ended, row.finished.ns, out);
  append_time_field(started, (row.started - row.submitted).ns, out);
  append_time_field(ended, (row.finished - row.submitted).ns, out);
  if (ended)
    append_stretch_field(row.finished - row.submitted, row.finished - row.started, out);
  else
    out += ',';
}

void append_row_id(std::string_view name, std::uint32_t k, std::string& out) {
  if (k == 0) return append_csv_text(name, out);
  append_csv_text(std::string(name) + "#" + std::to_string(k), out);
}

/// Writes the rows of one job after the other.
class EvalysRows {
 public:
  EvalysRows(std::string_view workload_name, const JobTable& jobs, const Timeline* timeline)
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
    append_time_field(true, row.submitted.ns, out);
    append_integer(job.devices_requested, out);
    out += ',';
    append_requested_time(job, out);
    out += job.phase == JobPhase::Succeeded ? "1," : "0,";
    out += final_state_of(job);
    out += ',';
    append_row_times(row, out);
    if (row.segment != nullptr) append_device_set(*timeline_, timeline_->parts(*row.segment), out);
    out += ",-1,";
    if (k > 0) out += "segment=" + std::to_string(k) + "/" + std::to_string(n) + ";";
    out += "restarts=";
    append_integer(job.restarts, out);
    out += ";reallocations=";
    append_integer(job.reschedules, out);
    out += ";preemptions=";
    append_integer(job.preemptions, out);
    out += ";node_losses=";
    append_integer(job.node_losses, out);
    out += '\n';
  }

  std::string_view workload_name_;
  const JobTable& jobs_;
  const Timeline* timeline_;
};

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
  append_time_field(true, row.started.ns, out);
  append_time_field(!row.finished.is_never(), row.finished.ns, out);
  out += orrery::to_string(segment.reason);
  out += ',';
  out += orrery::to_string(segment.phase);
  out += ',' + std::to_string(segment.generation.value) + ',';
  append_decimal(static_cast<double>(thousandths_of(timeline.parts(segment))) / 1000, out);
  out += ',';
  append_device_set(timeline, timeline.parts(segment), out);
  out += ',';
  if (segment.work_done >= 0) append_decimal(segment.work_done, out);
  out += '\n';
}

}  // namespace

void write_evalys_csv(std::ostream& out,
                      std::string_view workload_name,
                      const JobTable& jobs,
                      const Timeline* timeline) {
  const EvalysRows rows(workload_name, jobs, timeline);
  write_for_each_job(
      out, kEvalysHeader, jobs, [&](JobId id, std::string& text) { rows.append(id, text); });
}

void write_segments_csv(std::ostream& out, const JobTable& jobs, const Timeline& timeline) {
  write_for_each_job(out, kSegmentHeader, jobs, [&](JobId id, std::string& text) {
    for_each_row(
        id, jobs[id], &timeline, [&](const JobRowSpan& row, std::uint32_t k, std::uint32_t n) {
          if (k > 0) append_segment(jobs.name(id), row, n, timeline, text);
        });
  });
}

}  // namespace orrery::sim
