// schedule.json: Batsim's figures about a schedule as a whole, under Batsim's names.
#pragma once

#include <cstdint>
#include <string>

#include "sim/reports/timeline.hpp"
#include "sim/results/job_table.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Figures of one run; a machine is a device. Times are seconds. Every figure is about jobs, not
/// about the rows of jobs.csv: a job that was resized counts once.
///
/// Waiting is from submission to the first allocation, of the jobs that started; turnaround from
/// submission to the end in the world, and slowdown turnaround / (end - first allocation), of those
/// of them that have ended; a job that took no time has no slowdown.
struct Schedule {
  std::string scenario;
  std::string policy;
  std::uint64_t nb_jobs = 0;           ///< Submitted.
  std::uint64_t nb_jobs_finished = 0;  ///< Started and ended, either way.
  std::uint64_t nb_jobs_success = 0;
  std::uint64_t nb_jobs_killed = 0;    ///< Finished without success: failed or stopped.
  std::uint64_t nb_jobs_rejected = 0;  ///< Ended without ever having started.
  double success_rate = 0;             ///< Of `nb_jobs`, 0 to 1.
  double makespan = 0;                 ///< As in the summary.
  double mean_waiting_time = 0;
  double max_waiting_time = 0;
  double mean_turnaround_time = 0;
  double max_turnaround_time = 0;
  double mean_slowdown = 0;
  double max_slowdown = 0;
  std::int64_t nb_computing_machines = 0;  ///< Devices of the whole cluster as declared.
  // Machine-seconds from the first submission to the end of the makespan. Computing, idle and
  // unavailable make up the whole.
  double time_computing = 0;      ///< Granted to a job, on a node that may be used.
  double time_idle = 0;           ///< Granted to no job, on a node that may be used.
  double time_unavailable = 0;    ///< On a node that may not be used: lost, excluded, spare.
  double time_sleeping = 0;       ///< Not modelled.
  double time_switching_on = 0;   ///< Not modelled.
  double time_switching_off = 0;  ///< Not modelled.
  double consumed_joules = -1;    ///< Not modelled.
  double utilisation = 0;         ///< Machine-seconds granted to jobs, of all.
  double simulation_time = 0;     ///< Measured on this machine; not among `fields`.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("scenario", self.scenario);
    v.field("policy", self.policy);
    v.field("nb_jobs", self.nb_jobs);
    v.field("nb_jobs_finished", self.nb_jobs_finished);
    v.field("nb_jobs_success", self.nb_jobs_success);
    v.field("nb_jobs_killed", self.nb_jobs_killed);
    v.field("nb_jobs_rejected", self.nb_jobs_rejected);
    v.field("success_rate", self.success_rate);
    v.field("makespan", self.makespan);
    v.field("mean_waiting_time", self.mean_waiting_time);
    v.field("max_waiting_time", self.max_waiting_time);
    v.field("mean_turnaround_time", self.mean_turnaround_time);
    v.field("max_turnaround_time", self.max_turnaround_time);
    v.field("mean_slowdown", self.mean_slowdown);
    v.field("max_slowdown", self.max_slowdown);
    v.field("nb_computing_machines", self.nb_computing_machines);
    v.field("time_computing", self.time_computing);
    v.field("time_idle", self.time_idle);
    v.field("time_unavailable", self.time_unavailable);
    v.field("time_sleeping", self.time_sleeping);
    v.field("time_switching_on", self.time_switching_on);
    v.field("time_switching_off", self.time_switching_off);
    v.field("consumed_joules", self.consumed_joules);
    v.field("utilisation", self.utilisation);
  }
};

/// The figures of a run whose timeline is closed.
Schedule schedule_of(const Summary& summary, const JobTable& jobs, const Timeline& timeline);

/// The text of schedule.json: indented, measured values under "measured".
std::string schedule_file(const Schedule& schedule);

}  // namespace orrery::sim
