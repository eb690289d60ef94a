#include "sim/run/workload.hpp"

#include <algorithm>
#include <numeric>

#include "sim/faults/component_failures.hpp"
#include "sim/faults/lanl_replay.hpp"
#include "sim/pollux/profiles.hpp"
#include "sim/run/workload_file.hpp"
#include "sim/traces/philly_csv.hpp"
#include "sim/traces/philly_json.hpp"
#include "sim/workload/generator.hpp"

namespace orrery::sim {
namespace {

using scenarios::GeneratorWorkload;
using scenarios::PhillyFormat;
using scenarios::PhillyWorkload;
using scenarios::PolluxWorkload;
using scenarios::Scenario;
using scenarios::TraceEstimates;

// Devices on the largest node: what one replica of a big job takes.
std::int32_t devices_per_node(const Scenario& scenario) {
  std::int32_t most = 1;
  for (const NodeGroup& group : scenario.groups) most = std::max(most, group.devices);
  return most;
}

// A rigid job as processes that each fit on a node: whole nodes where it can be, else the largest
// equal parts.
RoleSpec rigid_role(std::int32_t gpus, std::int32_t per_node) {
  RoleSpec role;
  role.name = "worker";
  role.bundle.devices = gpus <= per_node ? gpus : std::gcd(gpus, per_node);
  role.min_replicas = role.max_replicas =
      role.bundle.devices == 0 ? 1 : std::max(1, gpus / role.bundle.devices);
  return role;
}

// What every job of a trace or generator has in common: data-parallel training that restarts from
// its checkpoint when it moves or loses a worker.
std::shared_ptr<JobSpec> training_job(std::string name) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = std::move(name);
  spec->rescale = RescaleMode::Restart;
  spec->recovery = RecoveryScope::Job;
  return spec;
}

void set_estimate(JobSpec& spec, TraceEstimates estimates, Duration truth, Duration stated) {
  if (estimates == TraceEstimates::None) return;
  const bool oracle = estimates == TraceEstimates::Oracle;
  spec.estimate = oracle ? truth : stated;
  spec.estimate_source = oracle ? EstimateSource::Oracle : EstimateSource::Declared;
}

scenarios::WorkSpec work_for(Duration duration, std::int32_t replicas) {
  scenarios::WorkSpec work;
  work.units = duration.in_seconds();
  work.base_replicas = replicas;
  return work;
}

// A full job name made of a trace's own id; the id itself stays as the label where they differ.
std::string job_name(const std::string& id, std::string& label) {
  std::string name = "default.";
  for (const char c : id)
    name += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c
            : c >= 'A' && c <= 'Z'                           ? static_cast<char>(c - 'A' + 'a')
                                                             : '-';
  if (name.compare(8, std::string::npos, id) != 0) label = id;
  return name;
}

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
    return ModelJob{std::make_shared<JobSpec>(job.spec),
                    job.submit,
                    {},
                    job.work,
                    job.workers,
                    job.ready_after,
                    nullptr};
  }

 private:
  std::vector<const scenarios::ScenarioJob*> order_;
  std::size_t at_ = 0;
};

class PolluxSource final : public JobSource {
 public:
  PolluxSource(const Scenario& scenario,
               const std::vector<PolluxSubmission>& jobs,
               const PolluxProfiles& profiles)
      : jobs_(jobs), profiles_(profiles) {
    for (const NodeGroup& group : scenario.groups) devices_ += group.count * group.devices;
  }

  std::optional<ModelJob> next() override {
    if (at_ == jobs_.size()) return std::nullopt;
    const PolluxSubmission& job = jobs_[at_++];
    const PolluxApplication& application = profiles_.find(job.application)->second;
    ModelJob out;
    auto spec = training_job(job_name(job.name, out.label));
    spec->preemptible = true;
    spec->profile = job.application;
    spec->batch_size = job.total_batch;
    spec->rigid_replicas = job.replicas;
    RoleSpec role;
    role.name = "worker";
    role.bundle.devices = 1;
    role.max_replicas = std::max(
        job.replicas,
        static_cast<std::int32_t>(std::min<std::int64_t>(application.replicas_max(job.total_batch),
                                                         std::max<std::int64_t>(1, devices_))));
    spec->roles.push_back(std::move(role));
    out.spec = std::move(spec);
    out.submit = job.submitted_at;
    out.application = &application;
    return out;
  }

 private:
  const std::vector<PolluxSubmission>& jobs_;
  const PolluxProfiles& profiles_;
  std::int64_t devices_ = 0;
  std::size_t at_ = 0;
};

class TraceSource final : public JobSource {
 public:
  TraceSource(const Scenario& scenario, const PhillyWorkload& workload, const Trace& trace)
      : workload_(workload), trace_(trace), per_node_(devices_per_node(scenario)) {}

  std::optional<ModelJob> next() override {
    if (at_ == trace_.jobs.size()) return std::nullopt;
    const TraceJob& job = trace_.jobs[at_++];
    ModelJob out;
    auto spec = training_job(job_name(job.name, out.label));
    spec->preemptible = workload_.preemptible;
    spec->group = "vc-" + job.vc;
    spec->roles.push_back(rigid_role(job.gpus, per_node_));
    set_estimate(*spec, workload_.estimates, job.duration, job.duration);
    out.work = work_for(job.duration, spec->roles[0].min_replicas);
    out.spec = std::move(spec);
    out.submit = job.submit;
    return out;
  }

 private:
  const PhillyWorkload& workload_;
  const Trace& trace_;
  std::int32_t per_node_;
  std::size_t at_ = 0;
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
    auto spec = training_job("default.job-" + std::to_string(job->index + 1));
    spec->preemptible = job->preemptible;
    RoleSpec role = rigid_role(job->gpus, per_node_);
    std::int32_t base = role.min_replicas;
    if (job->gpus_max > job->gpus_min) {
      role.bundle.devices = 1;
      role.min_replicas = job->gpus_min;
      role.max_replicas = job->gpus_max;
      spec->rigid_replicas = base = job->gpus;
    }
    spec->roles.push_back(std::move(role));
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

WorkloadAccount account_of(const TraceReport& report) {
  WorkloadAccount account;
  account.rows_read = report.rows;
  for (std::size_t r = 0; r < kTraceReasons; ++r) {
    const auto reason = static_cast<TraceReason>(r);
    const auto add = [&](TraceAction action, std::vector<ReasonCount>& to) {
      if (const std::uint64_t rows = report.counted(reason, action); rows > 0)
        to.push_back({std::string(to_string(reason)), rows});
    };
    add(TraceAction::Dropped, account.dropped);
    add(TraceAction::Altered, account.altered);
  }
  return account;
}

template <class Jobs>
void keep_first(Jobs& jobs, std::int64_t limit, WorkloadAccount& account) {
  if (limit <= 0 || jobs.size() <= static_cast<std::size_t>(limit)) return;
  account.dropped.push_back({"beyond-limit", jobs.size() - static_cast<std::size_t>(limit)});
  jobs.resize(static_cast<std::size_t>(limit));
}

}  // namespace

Result<LoadedWorkload> LoadedWorkload::load(const Scenario& scenario) {
  LoadedWorkload out;
  if (const auto* pollux = std::get_if<PolluxWorkload>(&scenario.workload)) {
    Result<PolluxProfiles> profiles = read_pollux_profiles(pollux->profiles);
    if (!profiles) return profiles.errors();
    out.profiles_ = std::make_shared<const PolluxProfiles>(std::move(*profiles));
    Result<std::vector<PolluxSubmission>> jobs = read_pollux_workload(pollux->file, *out.profiles_);
    if (!jobs) return jobs.errors();
    out.submissions_ = std::move(*jobs);
    out.account_.rows_read = out.submissions_.size();
    std::stable_sort(out.submissions_.begin(),
                     out.submissions_.end(),
                     [](const PolluxSubmission& a, const PolluxSubmission& b) {
                       return a.submitted_at < b.submitted_at;
                     });
    keep_first(out.submissions_, pollux->limit, out.account_);
  } else if (const auto* philly = std::get_if<PhillyWorkload>(&scenario.workload)) {
    Result<std::string> text = read_workload_file(philly->file, "workload.file");
    if (!text) return text.errors();
    TraceOptions options;
    if (philly->duplicates == scenarios::Duplicates::Drop) options.duplicates = TraceRows::Drop;
    Result<Trace> trace = philly->format == PhillyFormat::Csv
                              ? parse_philly_csv(*text, philly->file, options)
                              : parse_philly_json(*text, philly->file, options);
    if (!trace) return trace.errors();
    out.trace_ = std::move(*trace);
    out.account_ = account_of(out.trace_.report);
    keep_first(out.trace_.jobs, philly->limit, out.account_);
  }
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
  return out;
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

std::unique_ptr<JobSource> LoadedWorkload::play(const Scenario& scenario) const {
  auto written = std::make_unique<InlineSource>(scenario);
  std::unique_ptr<JobSource> other;
  if (std::holds_alternative<PolluxWorkload>(scenario.workload)) {
    other = std::make_unique<PolluxSource>(scenario, submissions_, *profiles_);
  } else if (const auto* philly = std::get_if<PhillyWorkload>(&scenario.workload)) {
    other = std::make_unique<TraceSource>(scenario, *philly, trace_);
  } else if (const auto* generator = std::get_if<GeneratorWorkload>(&scenario.workload)) {
    other = std::make_unique<GeneratedSource>(scenario, *generator);
  } else if (imported_.any()) {
    other = imported_.play(scenario);
  }
  if (!other) return written;
  if (scenario.jobs.empty()) return other;
  return std::make_unique<MergedSource>(std::move(written), std::move(other));
}

}  // namespace orrery::sim
