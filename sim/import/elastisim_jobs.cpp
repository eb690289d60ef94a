#include "sim/import/elastisim_jobs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/import/json_tree.hpp"
#include "sim/import/program_time.hpp"

namespace orrery::sim {
namespace {

using scenarios::Program;
using Stages = ElastisimStages::Stages;

// Stages of all programs of one job together.
constexpr std::size_t kJobStagesMax = 1'000'000;

bool is_fixed(const ElastisimJob& job) {
  return job.type == ElastisimType::Rigid || job.type == ElastisimType::Moldable;
}

/// Repeats what stands from `begin` on until it is there `times` times; false: too much.
bool repeat_from(std::size_t begin, std::int64_t times, Stages& stages) {
  const std::size_t once = stages.size() - begin;
  if (times == 0) stages.resize(begin);
  if (times <= 1 || once == 0) return true;
  if (static_cast<std::uint64_t>(times) > kElastisimStagesMax / once) return false;
  const std::size_t all = begin + once * static_cast<std::size_t>(times);
  if (all > kElastisimStagesMax) return false;
  std::size_t transfers = 0;
  for (std::size_t i = begin; i < stages.size(); ++i) transfers += stages[i].transfers.size();
  if (transfers * static_cast<std::size_t>(times) > kElastisimTransfersMax) return false;
  stages.reserve(all);
  for (std::size_t i = begin + once; i < all; ++i)
    stages.push_back(scenarios::ProgramStage(stages[i - once]));
  return true;
}

template <class Wanted>
bool any_task(const std::vector<ElastisimTask>& tasks, Wanted wanted) {
  return std::any_of(tasks.begin(), tasks.end(), [&](const ElastisimTask& task) {
    return wanted(task) || any_task(task.tasks, wanted);
  });
}

template <class Wanted>
bool any_task(const ElastisimApplication& application, Wanted wanted) {
  const auto in = [&](const std::optional<ElastisimPhase>& phase) {
    return phase && any_task(phase->tasks, wanted);
  };
  return in(application.on_init) || in(application.on_reconfiguration) ||
         std::any_of(application.phases.begin(),
                     application.phases.end(),
                     [&](const ElastisimPhase& phase) { return any_task(phase.tasks, wanted); });
}

}  // namespace

// Whether a round of the job's program is one iteration of its only phase.
bool ElastisimPlan::counts_iterations(const ElastisimJob& job) const {
  return !is_fixed(job) && application_of(job).phases.size() == 1;
}

// on_init and every phase with all its iterations.
std::string ElastisimPlan::append_all(const ElastisimJob& job,
                                      ElastisimStages& stages,
                                      Program& program) const {
  const ElastisimApplication& application = application_of(job);
  const auto append = [&](const ElastisimPhase& phase) {
    const std::size_t begin = program.stages.size();
    const std::int64_t times = stages.iterations(phase);
    stages.append(phase, program.stages);
    return repeat_from(begin, times, program.stages);
  };
  bool fits = true;
  if (is_fixed(job) && application.on_init) fits = append(*application.on_init);
  for (const ElastisimPhase& phase : application.phases) fits = fits && append(phase);
  if (!stages.wrong().empty()) return stages.wrong();
  if (fits) return {};
  return "comes to more than " + std::to_string(kElastisimStagesMax) + " stages, or to more than " +
         std::to_string(kElastisimTransfersMax) +
         " transfers, fewer are needed; lower its iterations";
}

std::string ElastisimPlan::shape(const ElastisimJob& job, std::int32_t nodes, Shape& shape) const {
  const ElastisimApplication& application = application_of(job);
  ElastisimStages stages(job.arguments, nodes, job.gpus_min, options_.node);
  if (counts_iterations(job)) {
    shape.units = static_cast<double>(stages.iterations(application.phases[0]));
    stages.append(application.phases[0], shape.program.stages);
    if (!stages.wrong().empty()) return stages.wrong();
    if (shape.units == 0) shape.program.stages.clear();
    shape.units = std::max(1.0, shape.units);
  } else if (std::string wrong = append_all(job, stages, shape.program); !wrong.empty()) {
    return wrong;
  }
  if (!is_fixed(job)) {
    Program start;
    const auto& again =
        application.on_reconfiguration ? application.on_reconfiguration : application.on_init;
    if (again) stages.append(*again, start.stages);
    if (!stages.wrong().empty()) return stages.wrong();
    shape.start_s = program_alone_s(start, nodes, options_.network, 0);
  }
  if (shape.program.stages.empty()) shape.program.stages.emplace_back();
  const double round_s = program_alone_s(shape.program, nodes, options_.network, 0);
  shape.alone_s = std::max(kLeastSeconds, round_s * shape.units);
  return {};
}

std::string ElastisimPlan::check(const ElastisimJob& job) const {
  if (applications_->count(job.application) == 0)
    return "has the application model '" + excerpt(job.application) +
           "', which was not read; check the path";
  std::size_t stages = 0;
  for (std::int32_t nodes = job.nodes_min; nodes <= job.nodes_max; ++nodes) {
    Shape shape_here;
    std::string wrong = shape(job, nodes, shape_here);
    if (!wrong.empty()) return wrong;
    for (const scenarios::ProgramStage& stage : shape_here.program.stages)
      stages += 1 + stage.transfers.size();
    if (stages > kJobStagesMax)
      return "comes to too many stages and transfers on all numbers of nodes together; narrow "
             "num_nodes_min and num_nodes_max";
  }
  return {};
}

void ElastisimPlan::note(const ElastisimJob& job) {
  const ElastisimApplication& application = application_of(job);
  notes_.file("tasks-in-step",
              "a task ends on all nodes of a job before its next one begins, barrier or not");
  if (any_task(application, [](const ElastisimTask& task) { return task.coupled; }))
    notes_.job("coupled-tasks-as-flows",
               "coupled tasks compute and communicate side by side, each as fast as it can; "
               "SimGrid's parallel task lets both advance in step");
  if (any_task(application, [](const ElastisimTask& task) { return task.async; }))
    notes_.job("async-io-beside-one-task",
               "asynchronous reads and writes go on beside the next task of the phase and end "
               "with it at the latest");
  if (job.gpus_min != job.gpus_max)
    notes_.job("least-gpus", "jobs take the least number of GPUs on each node that they accept");
  if (is_fixed(job)) return;
  notes_.job("resized-at-any-time",
             "jobs that can be resized are resized when the policy says so, not only at their "
             "scheduling points; what is done of an iteration is kept");
  if (application.on_init || application.on_reconfiguration)
    notes_.job("reconfiguration-as-start-time",
               "each start and resize of a job that can be resized takes the time that "
               "on_reconfiguration (else on_init) has on the least number of nodes with the "
               "network to itself");
  if (application.on_expansion) notes_.job("no-expansion-phase", "on_expansion is left out");
  if (job.type == ElastisimType::Evolving || job.type == ElastisimType::Adaptive)
    notes_.job("evolving-requests-left-to-policy",
               "evolving requests are not made: the policy sizes evolving and adaptive jobs as it "
               "does malleable ones");
}

Result<ElastisimPlan> ElastisimPlan::make_plan(
    const ElastisimJobs& jobs,
    const std::map<std::string, ElastisimApplication>& applications,
    const Options& options) {
  ElastisimPlan plan(jobs, applications, options);
  FileErrors errors(jobs.file);
  for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
    const ElastisimJob& job = jobs.jobs[i];
    const std::string wrong = plan.check(job);
    if (wrong.empty())
      plan.note(job);
    else
      errors.add(job.line, "job " + std::to_string(i), wrong);
  }
  if (errors.any()) return errors.take();
  plan.order_.resize(jobs.jobs.size());
  std::iota(plan.order_.begin(), plan.order_.end(), 0U);
  std::stable_sort(plan.order_.begin(), plan.order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return jobs.jobs[a].submit_s < jobs.jobs[b].submit_s;
  });
  return plan;
}

ModelJob ElastisimPlan::make(std::size_t place, std::int32_t devices) const {
  const std::uint32_t at = order_[place];
  const ElastisimJob& job = jobs_->jobs[at];
  auto spec = std::make_shared<JobSpec>();
  spec->name = "default." + std::to_string(at);
  spec->profile = std::string(orrery::to_string(job.type));
  spec->preemptible = !is_fixed(job);
  spec->rescale = RescaleMode::Restart;
  spec->recovery = RecoveryScope::Job;
  RoleSpec role;
  role.name = "node";
  role.min_replicas = job.nodes_min;
  role.max_replicas = job.nodes_max;
  role.bundle.devices = job.gpus_min > 0 ? job.gpus_min : devices;
  spec->roles.push_back(std::move(role));
  if (job.walltime_s) {
    spec->run_deadline = Duration::from_seconds(*job.walltime_s);
    spec->estimate = spec->run_deadline;
    spec->estimate_source = EstimateSource::Declared;
  }
  ModelJob out;
  out.submit = Instant{} + Duration::from_seconds(job.submit_s);
  auto traffic = std::make_shared<scenarios::TrafficSpec>();
  traffic->programs_from = job.nodes_min;
  out.work.scaling = scenarios::ScalingKind::Table;
  out.work.base_replicas = job.nodes_min;
  for (std::int32_t nodes = job.nodes_min; nodes <= job.nodes_max; ++nodes) {
    Shape here;
    static_cast<void>(shape(job, nodes, here));  // Checked by `make_plan`.
    if (nodes == job.nodes_min) {
      out.work.units = here.units;
      out.work.base_rate = here.units / here.alone_s;
      if (here.start_s > 0) out.times.edit().ready_after = Duration::from_seconds(here.start_s);
    }
    out.work.table.push_back({nodes, here.units / here.alone_s});
    traffic->programs.push_back(std::move(here.program));
  }
  out.work.traffic = std::move(traffic);
  out.spec = std::move(spec);
  return out;
}

}  // namespace orrery::sim
