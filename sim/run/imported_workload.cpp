#include "sim/run/imported_workload.hpp"

#include <algorithm>
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

class BatsimSource final : public JobSource {
 public:
  BatsimSource(const BatsimJobs& jobs, std::size_t limit, std::int32_t devices)
      : jobs_(jobs), limit_(limit), devices_(devices) {}

  std::optional<ModelJob> next() override {
    if (at_ == limit_) return std::nullopt;
    return jobs_.make(at_++, devices_);
  }

 private:
  const BatsimJobs& jobs_;
  std::size_t limit_;
  std::int32_t devices_;
  std::size_t at_ = 0;
};

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
  batsim->limit = batsim->jobs->size();
  if (workload.limit > 0 && static_cast<std::size_t>(workload.limit) < batsim->limit) {
    account.dropped.push_back(
        {"beyond-limit", batsim->limit - static_cast<std::size_t>(workload.limit)});
    batsim->limit = static_cast<std::size_t>(workload.limit);
  }
  add_notes(batsim->jobs->notes(), account);
  out.sends_ = batsim->jobs->sends();
  out.batsim_ = std::move(batsim);
  return out;
}

Result<ImportedWorkload> ImportedWorkload::load(const Scenario& scenario,
                                                WorkloadAccount& account) {
  if (const auto* batsim = std::get_if<BatsimWorkload>(&scenario.workload))
    return load_batsim(*batsim, scenario, account);
  if (const auto* elastisim = std::get_if<scenarios::ElastisimWorkload>(&scenario.workload))
    return Error{.file = elastisim->file,
                 .subject = "workload.elastisim",
                 .message = "cannot be read by this version; use another workload"};
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
  return std::make_unique<BatsimSource>(*batsim_->jobs, batsim_->limit, devices_per_host(scenario));
}

}  // namespace orrery::sim
