#include "sim/run/workload.hpp"

#include <algorithm>

#include "scenarios/language/spec/approximated.hpp"
#include "sim/faults/component_failures.hpp"
#include "sim/faults/lanl_replay.hpp"
#include "sim/import/job_names.hpp"
#include "sim/pollux/device_profiles.hpp"
#include "sim/pollux/profiles.hpp"
#include "sim/results/job_table.hpp"
#include "sim/run/adaptive_source.hpp"
#include "sim/run/job_parts.hpp"
#include "sim/run/trace_jobs.hpp"
#include "sim/run/workload_file.hpp"
#include "sim/workload/generator.hpp"

namespace orrery::sim {
namespace {

using scenarios::GeneratorWorkload;
using scenarios::PolluxWorkload;
using scenarios::Scenario;
using scenarios::ShockwaveWorkload;
using scenarios::TraceWorkload;

class InlineSource final : public JobSource {
 public:
  explicit InlineSource(const Scenario& scenario) {
    for (const scenarios::ScenarioJob& job : scenario.jobs) order_.push_back(&job);
    std::stable_sort(order_.begin(), order_.end(), [](const auto* a, const auto* b) {
      return a->submit < b->submit;
    });
  }

  std::optional<ModelJob> next() override {
    if (at_ == order_.size()) return std::nullopt;
    const scenarios::ScenarioJob& job = *order_[at_++];
    ModelJob out;
    out.spec = std::make_shared<JobSpec>(job.spec);
    out.submit = job.submit;
    out.work = job.work;
    if (!job.workers.empty()) out.scripts = job.workers;
    if (job.ready_after || job.hello_after) out.times.edit() = {job.ready_after, job.hello_after};
    return out;
  }

 private:
  std::vector<const scenarios::ScenarioJob*> order_;
  std::size_t at_ = 0;
};

class PolluxSource final : public JobSource {
 public:
  PolluxSource(const Scenario& scenario,
               const std::vector<PolluxSubmission>& jobs,
               const ProfiledApplications& applications,
               bool tunes_batches)
      : jobs_(jobs), applications_(applications), tunes_batches_(tunes_batches) {
    for (const NodeGroup& group : scenario.groups) devices_ += group.count * group.devices;
  }

  std::optional<ModelJob> next() override {
    if (at_ == jobs_.size()) return std::nullopt;
    const PolluxSubmission& job = jobs_[at_++];
    const ProfiledApplication& profiled = applications_.find(job.application)->second;
    const PolluxApplication& application = *profiled.first;
    ModelJob out;
    std::string label;
    auto spec = training_job(names_.name(job.name, label));
    if (!label.empty()) out.label = label;
    spec->preemptible = true;
    spec->profile = job.application;
    const bool tuned = tunes_batches_ && job.adaptivity == Adaptivity::Adaptive;
    spec->batch_size = tuned ? application.tuned_batch() : job.total_batch;
    spec->rigid_replicas = tuned ? 0 : job.replicas;
    RoleSpec role;
    role.name = "worker";
    role.bundle.devices = 1;
    const int batch = tuned ? application.limits().total_max : job.total_batch;
    const auto most = static_cast<std::int32_t>(std::min<std::int64_t>(
        application.replicas_max(batch), std::max<std::int64_t>(1, devices_)));
    // A rigid policy gives what the file says; one that tunes has no use for it.
    role.max_replicas = tuned ? std::max(most, 1) : std::max(job.replicas, most);
    if (job.adaptivity != Adaptivity::Adaptive) role.max_replicas = job.replicas;
    if (job.adaptivity == Adaptivity::Rigid) role.min_replicas = job.replicas;
    spec->roles = roles_.of(std::move(role));
    out.spec = std::move(spec);
    out.submit = job.submitted_at;
    out.application = &profiled;
    out.reports_training = tunes_batches_;
    out.batch_is_fixed = job.adaptivity != Adaptivity::Adaptive;
    return out;
  }

 private:
  const std::vector<PolluxSubmission>& jobs_;
  const ProfiledApplications& applications_;
  bool tunes_batches_;
  std::int64_t devices_ = 0;
  std::size_t at_ = 0;
  SharedRoles roles_;
  JobNames names_;
};

class GeneratedSource final : public JobSource {
 public:
  GeneratedSource(const Scenario& scenario, const GeneratorWorkload& workload)
      : workload_(workload),
        stream_(seeded(scenario, workload)),
        per_node_(devices_per_node(scenario)) {}

  std::optional<ModelJob> next() override {
    std::optional<GeneratedJob> job = stream_.next();
    if (!job) return std::nullopt;
    ModelJob out;
    // A user is a namespace.
    const bool has_users = workload_.spec.users > 1;
    auto spec = training_job(
        (has_users ? "user-" + std::to_string(job->user + 1) : std::string("default")) + ".job-" +
        std::to_string(job->index + 1));
    spec->preemptible = job->preemptible;
    RoleSpec role = rigid_role(job->gpus, per_node_);
    std::int32_t base = role.min_replicas;
    if (job->gpus_max > job->gpus_min) {
      role.bundle.devices = 1;
      role.min_replicas = job->gpus_min;
      role.max_replicas = job->gpus_max;
      spec->rigid_replicas = base = job->gpus;
    }
    spec->roles = roles_.of(std::move(role));
    set_estimate(*spec, workload_.estimates, job->duration, job->estimate);
    out.work = work_for(job->duration, base);
    out.work.traffic = workload_.traffic;
    out.spec = std::move(spec);
    out.submit = job->submit;
    return out;
  }

 private:
  static GeneratorSpec seeded(const Scenario& scenario, const GeneratorWorkload& workload) {
    GeneratorSpec spec = workload.spec;
    if (!workload.own_seed) spec.seed = scenario.seed;
    return spec;
  }

  const GeneratorWorkload& workload_;
  JobStream stream_;
  std::int32_t per_node_;
  SharedRoles roles_;
};

// The jobs of a workload beside those written in the scenario. The controller knows live jobs by
// their names, so one that is called as a written one gets a number behind its name.
class NumberedSource final : public JobSource {
 public:
  NumberedSource(const Scenario& scenario, std::unique_ptr<JobSource> jobs)
      : jobs_(std::move(jobs)) {
    for (const scenarios::ScenarioJob& job : scenario.jobs)
      names_.take(display_name(job.spec.name));
  }

  std::optional<ModelJob> next() override {
    std::optional<ModelJob> job = jobs_->next();
    if (!job) return job;
    std::string used_before;
    std::string name = names_.name(display_name(job->spec->name), used_before);
    if (used_before.empty()) return job;
    // Where results show another name than the controller's they go on to do so.
    if (job->label->empty()) ++shown_with_number_;
    auto spec = std::make_shared<JobSpec>(*job->spec);
    spec->name = std::move(name);
    job->spec = std::move(spec);
    return job;
  }

  /// Jobs so far of which results show the number.
  std::uint64_t shown_with_number() const { return shown_with_number_; }

 private:
  std::unique_ptr<JobSource> jobs_;
  JobNames names_;
  std::uint64_t shown_with_number_ = 0;
};

// Two sources, merged by time; the first goes first on ties.
class MergedSource final : public JobSource {
 public:
  MergedSource(std::unique_ptr<JobSource> a, std::unique_ptr<JobSource> b)
      : a_(std::move(a)), b_(std::move(b)), next_a_(a_->next()), next_b_(b_->next()) {}

  std::optional<ModelJob> next() override {
    const bool first = next_a_ && (!next_b_ || next_a_->submit <= next_b_->submit);
    std::optional<ModelJob>& chosen = first ? next_a_ : next_b_;
    std::optional<ModelJob> out = std::move(chosen);
    chosen = out ? (first ? a_ : b_)->next() : std::nullopt;
    return out;
  }

 private:
  std::unique_ptr<JobSource> a_;
  std::unique_ptr<JobSource> b_;
  std::optional<ModelJob> next_a_;
  std::optional<ModelJob> next_b_;
};

void add_count(std::vector<ReasonCount>& to, std::string_view reason, std::uint64_t rows) {
  if (rows == 0) return;
  const auto known = std::ranges::find(to, reason, &ReasonCount::reason);
  if (known == to.end())
    to.push_back({std::string(reason), rows});
  else
    known->rows += rows;
}

}  // namespace

Result<LoadedWorkload> LoadedWorkload::load(const Scenario& scenario) {
  LoadedWorkload out;
  if (const auto* pollux = std::get_if<PolluxWorkload>(&scenario.workload)) {
    if (Errors errors = out.load_profiles(*pollux); !errors.empty()) return errors;
    Result<std::vector<PolluxSubmission>> jobs =
        read_pollux_workload(pollux->file, *out.models_.profiles);
    if (!jobs) return jobs.errors();
    out.submissions_ = std::move(*jobs);
    out.account_.rows_read = out.submissions_.size();
    std::stable_sort(out.submissions_.begin(),
                     out.submissions_.end(),
                     [](const PolluxSubmission& a, const PolluxSubmission& b) {
                       return a.submitted_at < b.submitted_at;
                     });
    keep_first(out.submissions_, pollux->limit, out.account_);
  } else if (const auto* shockwave = std::get_if<ShockwaveWorkload>(&scenario.workload)) {
    Result<AdaptiveWorkload> jobs = load_adaptive(*shockwave, out.account_);
    if (!jobs) return jobs.errors();
    out.adaptive_ = std::make_shared<const AdaptiveWorkload>(std::move(*jobs));
    out.models_.epochs = {out.adaptive_, &out.adaptive_->profiles};
  } else if (const auto* from = std::get_if<TraceWorkload>(&scenario.workload)) {
    Result<Trace> trace = load_trace(scenario, *from, out.account_);
    if (!trace) return trace.errors();
    out.trace_ = std::move(*trace);
    Result<std::shared_ptr<const DeviceSpeeds>> speeds = load_speeds(scenario, *from);
    if (!speeds) return speeds.errors();
    out.models_.speeds = std::move(*speeds);
    out.models_.speeds_of = from->speeds_of;
    if (out.models_.speeds != nullptr)
      count_short_jobs(*from, out.trace_, *out.models_.speeds, out.account_);
  }
  if (Errors errors = out.check_restarts(scenario); !errors.empty()) return errors;
  Result<ImportedWorkload> imported = ImportedWorkload::load(scenario, out.account_);
  if (!imported) return imported.errors();
  out.imported_ = std::move(*imported);
  if (scenario.failures.lanl) {
    const std::string& file = scenario.failures.lanl->file;
    Result<std::string> text = read_workload_file(file, "failures.lanl.file");
    if (!text) return text.errors();
    Result<LanlRecords> records = parse_lanl_failures(*text, file);
    if (!records) return records.errors();
    out.failures_ = std::move(*records);
  }
  out.count_used_names(scenario);
  for (const scenarios::Approximated& each : scenarios::approximated(scenario))
    out.account_.notes.push_back(each.subject + ": " + each.sentence);
  return out;
}

Errors LoadedWorkload::load_profiles(const PolluxWorkload& pollux) {
  if (pollux.profiles_by_model.empty()) {
    Result<PolluxProfiles> profiles = read_pollux_profiles(pollux.profiles);
    if (!profiles) return profiles.errors();
    models_.profiles = std::make_shared<const PolluxProfiles>(std::move(*profiles));
  } else {
    Result<DeviceProfiles> profiles =
        read_device_profiles({pollux.profiles_by_model.begin(), pollux.profiles_by_model.end()});
    if (!profiles) return profiles.errors();
    models_.device_profiles = std::make_shared<const DeviceProfiles>(std::move(*profiles));
    // Who knows of one kind only takes all for the first by name.
    models_.profiles = {models_.device_profiles, &models_.device_profiles->begin()->second};
  }
  for (const auto& [name, application] : *models_.profiles)
    applications_.emplace(name, ProfiledApplication{&application, models_.device_profiles.get()});
  return {};
}

Errors LoadedWorkload::check_restarts(const Scenario& scenario) const {
  const std::map<std::string, Duration>& restarts = scenario.timing.restart_by_application;
  if (restarts.empty()) return {};
  if (models_.profiles == nullptr)
    return {Error{.subject = "timing.restart",
                  .message = "names applications, which a workload of format pollux has; write one "
                             "time, for example 30s"}};
  std::string known;
  for (const auto& [name, application] : *models_.profiles) known += name + ", ";
  Errors errors;
  for (const auto& [name, time] : restarts)
    if (!models_.profiles->contains(name))
      errors.push_back(Error{.subject = "timing.restart." + name,
                             .message = "is no application of the profiles; name one of " + known +
                                        "or default, for the others"});
  return errors;
}

bool LoadedWorkload::sends(const Scenario& scenario) const {
  if (const auto* made = std::get_if<GeneratorWorkload>(&scenario.workload))
    if (made->traffic != nullptr) return true;
  if (imported_.sends()) return true;
  return std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const auto& job) {
    return job.work.traffic != nullptr;
  });
}

Scenario LoadedWorkload::with_failures(const Scenario& scenario) const {
  Scenario out = scenario;
  const auto add = [&](const std::vector<scenarios::Fault>& faults) {
    out.faults.insert(out.faults.end(), faults.begin(), faults.end());
  };
  const scenarios::Failures& failures = scenario.failures;
  if (failures.lanl) add(replay_lanl(*failures.lanl, failures_, scenario.node_count()));
  if (failures.llama3) add(draw_component_failures(*failures.llama3, scenario));
  add(imported_.faults());
  return out;
}

std::vector<std::pair<Bundle, std::int64_t>> LoadedWorkload::filling(
    const Scenario& scenario) const {
  const auto* from = std::get_if<TraceWorkload>(&scenario.workload);
  if (from == nullptr || from->fill == 0) return {};
  const TraceRequests requests(scenario, *from);
  std::vector<std::pair<Bundle, std::int64_t>> out;
  for (const TraceJob& job : trace_.jobs) {
    const RoleSpec role = requests.role_of(job, nullptr);
    out.emplace_back(role.bundle, role.min_replicas);
  }
  return out;
}

void LoadedWorkload::count_used_names(const Scenario& scenario) {
  if (scenario.jobs.empty()) return;
  std::unique_ptr<JobSource> jobs = play_workload(scenario, false);
  if (!jobs) return;
  NumberedSource numbered(scenario, std::move(jobs));
  while (numbered.next()) continue;
  add_count(account_.altered, to_string(TraceReason::NameUsedBefore), numbered.shown_with_number());
}

WorkloadAccount LoadedWorkload::account_of_run(std::uint64_t jobs_refused) const {
  WorkloadAccount out = account_;
  add_count(out.dropped, "refused at submission", jobs_refused);
  return out;
}

std::unique_ptr<JobSource> LoadedWorkload::play_workload(const Scenario& scenario,
                                                         bool tunes_batches) const {
  if (std::holds_alternative<PolluxWorkload>(scenario.workload))
    return std::make_unique<PolluxSource>(scenario, submissions_, applications_, tunes_batches);
  if (const auto* shockwave = std::get_if<ShockwaveWorkload>(&scenario.workload))
    return play_adaptive(*shockwave, *adaptive_);
  if (const auto* from = std::get_if<TraceWorkload>(&scenario.workload))
    return play_trace(scenario, *from, trace_, models_.speeds.get());
  if (const auto* generator = std::get_if<GeneratorWorkload>(&scenario.workload))
    return std::make_unique<GeneratedSource>(scenario, *generator);
  if (imported_.any()) return imported_.play(scenario);
  return nullptr;
}

std::unique_ptr<JobSource> LoadedWorkload::play(const Scenario& scenario,
                                                bool tunes_batches) const {
  auto written = std::make_unique<InlineSource>(scenario);
  std::unique_ptr<JobSource> other = play_workload(scenario, tunes_batches);
  if (!other) return written;
  if (scenario.jobs.empty()) return other;
  return std::make_unique<MergedSource>(
      std::move(written), std::make_unique<NumberedSource>(scenario, std::move(other)));
}

}  // namespace orrery::sim
