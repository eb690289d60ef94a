#include "sim/reports/schedule.hpp"

#include <algorithm>

#include "core/record/record_text.hpp"

namespace orrery::sim {
namespace {

/// Mean and largest of values that come one by one.
class MeanAndMax {
 public:
  void add(double value) {
    sum_ += value;
    max_ = std::max(max_, value);
    ++count_;
  }

  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

  double max() const { return max_; }

 private:
  double sum_ = 0;
  double max_ = 0;
  std::uint64_t count_ = 0;
};

void set_jobs(const JobTable& jobs, Schedule& schedule) {
  MeanAndMax waiting;
  MeanAndMax turnaround;
  MeanAndMax slowdown;
  for (const JobOutcome& job : jobs.rows()) {
    if (!job.exists()) continue;
    ++schedule.nb_jobs;
    if (job.has_started()) waiting.add((job.started - job.submitted).in_seconds());
    if (!job.is_over()) continue;
    if (!job.has_started()) {
      ++schedule.nb_jobs_rejected;
      continue;
    }
    ++schedule.nb_jobs_finished;
    ++(job.phase == JobPhase::Succeeded ? schedule.nb_jobs_success : schedule.nb_jobs_killed);
    const double whole = (job.finished - job.submitted).in_seconds();
    const double execution = (job.finished - job.started).in_seconds();
    turnaround.add(whole);
    if (execution > 0) slowdown.add(whole / execution);
  }
  if (schedule.nb_jobs > 0)
    schedule.success_rate =
        static_cast<double>(schedule.nb_jobs_success) / static_cast<double>(schedule.nb_jobs);
  schedule.mean_waiting_time = waiting.mean();
  schedule.max_waiting_time = waiting.max();
  schedule.mean_turnaround_time = turnaround.mean();
  schedule.max_turnaround_time = turnaround.max();
  schedule.mean_slowdown = slowdown.mean();
  schedule.max_slowdown = slowdown.max();
}

double seconds(__int128 device_ns) { return static_cast<double>(device_ns) / 1e9; }

void set_machines(const JobTable& jobs, const Timeline& timeline, Schedule& schedule) {
  // The makespan ends with the last job that has ended, or with the run where one is left running.
  const bool left_running = std::ranges::any_of(jobs.rows(), [](const JobOutcome& job) {
    return job.exists() && !job.is_over() && job.has_started();
  });
  const DeviceTime& time =
      left_running ? timeline.device_time() : timeline.device_time_at_last_end();
  const double whole = static_cast<double>(timeline.devices_total()) * schedule.makespan;
  schedule.nb_computing_machines = timeline.devices_total();
  schedule.time_computing = seconds(time.computing);
  schedule.time_unavailable = std::min(seconds(time.unavailable), whole - schedule.time_computing);
  schedule.time_unavailable = std::max(schedule.time_unavailable, 0.0);
  schedule.time_idle = std::max(whole - schedule.time_computing - schedule.time_unavailable, 0.0);
  schedule.utilisation = whole > 0 ? seconds(time.in_use) / whole : 0;
}

}  // namespace

Schedule schedule_of(const Summary& summary, const JobTable& jobs, const Timeline& timeline) {
  Schedule schedule;
  schedule.scenario = summary.scenario;
  schedule.policy = summary.policy;
  schedule.makespan = summary.makespan_s;
  schedule.simulation_time = summary.measured.wall_s;
  set_jobs(jobs, schedule);
  set_machines(jobs, timeline, schedule);
  return schedule;
}

std::string schedule_file(const Schedule& schedule) {
  JsonText json(JsonText::Layout::Indented);
  JsonFields fields(json);
  json.begin_object();
  Schedule::fields(schedule, fields);
  json.key("measured").begin_object();
  json.field("simulation_time", schedule.simulation_time).end_object();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace orrery::sim
