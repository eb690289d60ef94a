#include "sim/import/batsim_jobs.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/import/batsim_work.hpp"
#include "sim/import/job_names.hpp"

namespace orrery::sim {
namespace {

/// What a run that would end at its walltime, or later, is made longer by: long enough to be seen
/// in nanoseconds, and it is never lived to see.
constexpr double kBeyondWalltime = 1e-3;

const BatsimProfile& profile_of(const BatsimFile& file, const BatsimJob& job) {
  return file.profiles[job.profile];
}

RoleSpec role_of(const BatsimJob& job, std::int32_t devices) {
  RoleSpec role;
  role.name = "host";
  role.min_replicas = role.max_replicas = std::max(1, job.hosts);
  if (job.extra.res_min) role.min_replicas = std::max(1, *job.extra.res_min);
  if (job.extra.res_max) role.max_replicas = *job.extra.res_max;
  role.bundle.devices = job.hosts == 0 ? 0 : job.extra.gpus_per_host.value_or(devices);
  if (role.bundle.devices > 0) role.bundle.device_model = job.extra.gpu_model;
  return role;
}

/// Jobs that end with another code than 0 end by a script, which only a fixed time allows.
void fail_at_end(ModelJob& job, const BatsimWork& work, JobSpec& spec) {
  scenarios::WorkerScript script;
  script.kind = scenarios::ScriptKind::Exit;
  script.after = Duration::from_seconds(work.alone_s);
  script.exit_code = work.exit_code;
  job.scripts.edit().push_back(script);
  job.work.units += kBeyondWalltime;
  spec.backoff_limit = 0;
}

}  // namespace

Result<BatsimJobs> BatsimJobs::plan(const BatsimFile& file, const Options& options) {
  BatsimJobs jobs(file);
  FileErrors errors(file.file);
  const BatsimWorkBuilder builder(file, options);
  JobNames names;
  std::set<Shape> refused;
  for (const std::string& name : file.old_names)
    jobs.notes_.file("old-name-" + name,
                     "the profile type '" + name + "' is a name of before v5 and was mapped");
  for (const BatsimJob& job : file.jobs) {
    std::string label;
    std::string name = names.name(job.id, label);
    jobs.names_.emplace_back(std::move(name), std::move(label));
    const Shape shape{job.profile, job.hosts};
    if (refused.count(shape) > 0) continue;  // Said once for all jobs of the profile.
    if (jobs.works_.count(shape) == 0) {
      BatsimWork work;
      const std::string wrong = builder.build(profile_of(file, job), job.hosts, work);
      if (!wrong.empty()) {
        errors.add(job.line,
                   "job " + excerpt(job.id) + ": profile " + excerpt(profile_of(file, job).name),
                   wrong);
        refused.insert(shape);
        continue;
      }
      jobs.works_.emplace(shape, std::move(work));
    }
    jobs.note(job);
  }
  if (errors.any()) return errors.take();
  jobs.order_.resize(file.jobs.size());
  std::iota(jobs.order_.begin(), jobs.order_.end(), 0U);
  std::stable_sort(jobs.order_.begin(), jobs.order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return file.jobs[a].submit_s < file.jobs[b].submit_s;
  });
  return jobs;
}

void BatsimJobs::note(const BatsimJob& job) {
  const BatsimWork& work = works_.at({job.profile, job.hosts});
  if (work.has_parallel_tasks)
    notes_.job("parallel-task-as-flows",
               "parallel tasks run as compute plus flows that begin together and end each at its "
               "own time; SimGrid's parallel task lets all of them advance in step");
  if (work.has_storage)
    notes_.job("storage-as-one", "every storage that profiles name is the cluster's one storage");
  if (work.has_staging)
    notes_.job("staging-as-time",
               "staging between storages takes the bytes over the storage's bandwidth, without "
               "contention");
  if (work.exit_code != 0 && work.traffic != nullptr)
    notes_.job("exit-code-left-out",
               "a return code other than 0 fails a job only where it is made of delays; the others "
               "succeed");
  if (job.hosts == 0)
    notes_.job("no-host", "jobs of no host run as one process that takes no device");
}

bool BatsimJobs::sends() const {
  return std::any_of(works_.begin(), works_.end(), [](const auto& work) {
    return work.second.traffic != nullptr;
  });
}

std::int32_t BatsimJobs::devices_wanted() const {
  std::int32_t most = 1;
  for (const BatsimJob& job : file_->jobs)
    most = std::max(most, job.extra.gpus_per_host.value_or(1));
  return most;
}

std::string BatsimJobs::model_wanted() const {
  std::string model;
  for (const BatsimJob& job : file_->jobs) {
    const std::string& wanted = job.extra.gpu_model;
    if (wanted.empty() || wanted == model) continue;
    if (!model.empty()) return "gpu";
    model = wanted;
  }
  return model.empty() ? "gpu" : model;
}

ModelJob BatsimJobs::make(std::size_t place, std::int32_t devices) const {
  const std::uint32_t at = order_[place];
  const BatsimJob& job = file_->jobs[at];
  const BatsimWork& work = works_.at({job.profile, job.hosts});
  auto spec = std::make_shared<JobSpec>();
  spec->name = names_[at].first;
  spec->rescale = RescaleMode::Restart;
  spec->recovery = RecoveryScope::Job;
  spec->profile = profile_of(*file_, job).name;
  // A machine that is said to be unavailable is lost; no answer of it is awaited.
  spec->unknown_deadline = Duration::zero();
  spec->roles.push_back(role_of(job, devices));
  if (spec->roles[0].is_elastic()) {
    spec->preemptible = true;
    spec->rigid_replicas = job.hosts;
  }
  ModelJob out;
  if (!names_[at].second.empty()) out.label = names_[at].second;
  out.submit = Instant{} + Duration::from_seconds(job.submit_s);
  out.work.units = work.units;
  out.work.base_rate = work.units / work.alone_s;
  out.work.base_replicas = std::max(1, job.hosts);
  out.work.traffic = work.traffic;
  if (work.exit_code != 0 && work.traffic == nullptr) fail_at_end(out, work, *spec);
  if (job.walltime_s) {
    spec->run_deadline = Duration::from_seconds(*job.walltime_s);
    spec->estimate = spec->run_deadline;
    spec->estimate_source = EstimateSource::Declared;
    if (work.traffic == nullptr && Duration::from_seconds(work.alone_s) >= spec->run_deadline)
      out.work.units = work.alone_s + kBeyondWalltime;
  }
  out.spec = std::move(spec);
  return out;
}

}  // namespace orrery::sim
