#include "sim/run/imported_workload.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/run/workload_file.hpp"

namespace orrery::sim {
namespace {

using scenarios::BatsimWorkload;
using scenarios::Scenario;

void append(Errors& errors, const Errors& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

void add_notes(const ImportNotes& notes, WorkloadAccount& account) {
  for (const ImportNote& note : notes.all()) {
    if (note.jobs > 0) account.altered.push_back({note.reason, note.jobs});
    account.notes.push_back(note.sentence);
  }
}

/// Devices of the smallest node that has any: what a job that takes its hosts whole takes of each.
std::int32_t devices_per_host(const Scenario& scenario) {
  std::int32_t least = 0;
  for (const NodeGroup& group : scenario.groups)
    if (group.devices > 0) least = least == 0 ? group.devices : std::min(least, group.devices);
  return least;
}

/// The first so many jobs of a plan.
template <class Jobs>
class PlannedSource final : public JobSource {
 public:
  PlannedSource(const Jobs& jobs, std::size_t limit, std::int32_t devices)
      : jobs_(jobs), limit_(limit), devices_(devices) {}

  std::optional<ModelJob> next() override {
    if (at_ == limit_) return std::nullopt;
    return jobs_.make(at_++, devices_);
  }

 private:
  const Jobs& jobs_;
  std::size_t limit_;
  std::int32_t devices_;
  std::size_t at_ = 0;
};

/// Jobs that are played of `jobs`; `limit` 0: all.
std::size_t limited(std::size_t jobs, std::int64_t limit, WorkloadAccount& account) {
  if (limit <= 0 || static_cast<std::size_t>(limit) >= jobs) return jobs;
  account.dropped.push_back({"beyond-limit", jobs - static_cast<std::size_t>(limit)});
  return static_cast<std::size_t>(limit);
}

/// Where a path that an ElastiSim file writes leads: from the root, or where it was moved beside
/// the file that names it.
std::string path_from(const std::string& written, const std::string& root, const std::string& by) {
  const std::filesystem::path folder = std::filesystem::path(by).parent_path();
  const std::filesystem::path from = root.empty() ? folder : std::filesystem::path(root);
  const std::filesystem::path moved = folder / std::filesystem::path(written).filename();
  std::error_code ignored;
  if (!std::filesystem::exists(from / written, ignored) && std::filesystem::exists(moved, ignored))
    return moved.string();
  return (from / written).string();
}

/// The list of jobs, which the configuration may name.
Result<ElastisimJobs> load_jobs(const scenarios::ElastisimWorkload& workload,
                                const Scenario& scenario,
                                WorkloadAccount& account) {
  Result<std::string> text = read_workload_file(workload.file, "workload.elastisim.file");
  if (!text) return text.errors();
  if (!is_elastisim_configuration(*text)) return parse_elastisim_jobs(*text, workload.file);
  const auto configuration = parse_elastisim_configuration(*text, workload.file);
  if (!configuration) return configuration.errors();
  if (!configuration->platform_file.empty() && scenario.network.platform.empty())
    account.notes.push_back(
        "the configuration's platform file is not read: the scenario's cluster "
        "counts, and cluster.network.platform names a file");
  const std::string path = path_from(configuration->jobs_file, workload.root, workload.file);
  Result<std::string> jobs = read_workload_file(path, "workload.elastisim.root");
  if (!jobs) return jobs.errors();
  return parse_elastisim_jobs(*jobs, path);
}

/// Every model that jobs name, once.
Errors load_applications(const ElastisimJobs& jobs,
                         const std::string& root,
                         std::map<std::string, ElastisimApplication>& to) {
  Errors errors;
  for (const ElastisimJob& job : jobs.jobs) {
    if (!to.try_emplace(job.application).second) continue;
    const std::string path = path_from(job.application, root, jobs.file);
    Result<std::string> text = read_workload_file(path, "workload.elastisim.root");
    if (!text) {
      append(errors, text.errors());
      continue;
    }
    Result<ElastisimApplication> application = parse_elastisim_application(*text, path);
    if (application)
      to[job.application] = std::move(*application);
    else
      append(errors, application.errors());
  }
  return errors;
}

Result<std::vector<scenarios::Fault>> load_events(const std::string& path,
                                                  std::int64_t nodes,
                                                  WorkloadAccount& account) {
  Result<std::string> text = read_workload_file(path, "workload.batsim.events");
  if (!text) return text.errors();
  Result<BatsimEvents> events = parse_batsim_events(*text, path);
  if (!events) return events.errors();
  account.rows_read += events->lines;
  if (events->passed_over > 0)
    account.dropped.push_back({"events-not-about-machines", events->passed_over});
  return faults_of(*events, nodes);
}

}  // namespace

Result<ImportedWorkload> ImportedWorkload::load_batsim(const BatsimWorkload& workload,
                                                       const Scenario& scenario,
                                                       WorkloadAccount& account) {
  ImportedWorkload out;
  Result<std::string> text = read_workload_file(workload.file, "workload.batsim.file");
  if (!text) return text.errors();
  Result<BatsimFile> file = parse_batsim(
      *text, workload.file, workload.strict ? BatsimNames::Strict : BatsimNames::Lenient);
  if (!file) return file.errors();
  auto batsim = std::make_shared<Batsim>();
  batsim->file = std::move(*file);
  Errors errors;
  Result<BatsimJobs> jobs = BatsimJobs::plan(batsim->file, {workload.host_flops, scenario.network});
  if (!jobs) append(errors, jobs.errors());
  account.rows_read = batsim->file.jobs.size();
  if (!workload.events.empty()) {
    const std::int64_t nodes = scenario.groups.empty() ? batsim->file.hosts : scenario.node_count();
    Result<std::vector<scenarios::Fault>> faults = load_events(workload.events, nodes, account);
    if (faults)
      out.faults_ = std::move(*faults);
    else
      append(errors, faults.errors());
  }
  if (!errors.empty()) return errors;
  batsim->jobs = std::move(*jobs);
  batsim->limit = limited(batsim->jobs->size(), workload.limit, account);
  add_notes(batsim->jobs->notes(), account);
  out.sends_ = batsim->jobs->sends();
  out.batsim_ = std::move(batsim);
  return out;
}

Result<ImportedWorkload> ImportedWorkload::load_elastisim(
    const scenarios::ElastisimWorkload& workload,
    const Scenario& scenario,
    WorkloadAccount& account) {
  auto elastisim = std::make_shared<Elastisim>();
  Result<ElastisimJobs> jobs = load_jobs(workload, scenario, account);
  if (!jobs) return jobs.errors();
  elastisim->jobs = std::move(*jobs);
  account.rows_read = elastisim->jobs.jobs.size();
  const Errors errors = load_applications(elastisim->jobs, workload.root, elastisim->applications);
  if (!errors.empty()) return errors;
  ElastisimPlan::Options options;
  options.network = scenario.network;
  options.node.host_flops = workload.host_flops;
  options.node.gpu_flops = workload.gpu_flops;
  options.node.burst_buffer = workload.burst_buffer;
  options.node.device_bandwidth = scenario.network.device_bandwidth;
  options.node.has_platform = scenario.network.topology == scenarios::NetworkTopology::Platform;
  Result<ElastisimPlan> plan =
      ElastisimPlan::make_plan(elastisim->jobs, elastisim->applications, options);
  if (!plan) return plan.errors();
  elastisim->plan = std::move(*plan);
  elastisim->limit = limited(elastisim->plan->size(), workload.limit, account);
  add_notes(elastisim->plan->notes(), account);
  ImportedWorkload out;
  out.sends_ = true;
  out.elastisim_ = std::move(elastisim);
  return out;
}

Result<ImportedWorkload> ImportedWorkload::load(const Scenario& scenario,
                                                WorkloadAccount& account) {
  if (const auto* batsim = std::get_if<BatsimWorkload>(&scenario.workload))
    return load_batsim(*batsim, scenario, account);
  if (const auto* elastisim = std::get_if<scenarios::ElastisimWorkload>(&scenario.workload))
    return load_elastisim(*elastisim, scenario, account);
  return ImportedWorkload{};
}

void ImportedWorkload::complete(Scenario& scenario) const {
  if (!scenario.groups.empty() || batsim_ == nullptr) return;
  NodeGroup group;
  group.name = "hosts";
  group.count = static_cast<std::int32_t>(batsim_->file.hosts);
  group.cpu = MilliCpu{128'000};
  group.memory = Bytes{std::int64_t{1024} << 30};
  group.devices = batsim_->jobs->devices_wanted();
  group.device_model = batsim_->jobs->model_wanted();
  scenario.groups.push_back(std::move(group));
  scenario.nodes_per_switch.push_back(0);
}

std::unique_ptr<JobSource> ImportedWorkload::play(const Scenario& scenario) const {
  const std::int32_t devices = devices_per_host(scenario);
  if (elastisim_ != nullptr)
    return std::make_unique<PlannedSource<ElastisimPlan>>(
        *elastisim_->plan, elastisim_->limit, devices);
  return std::make_unique<PlannedSource<BatsimJobs>>(*batsim_->jobs, batsim_->limit, devices);
}

}  // namespace orrery::sim
