#include "sim/run/trace_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "sim/run/filling.hpp"
#include "sim/run/job_parts.hpp"
#include "sim/run/workload_file.hpp"
#include "sim/traces/formats.hpp"
#include "sim/traces/gavel_throughputs.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;
using scenarios::TraceWorkload;

/// `amount` in equal parts, rounded up.
std::int64_t part_of(std::int64_t amount, std::int64_t parts) {
  return (amount + parts - 1) / parts;
}

/// Steps that a job makes in its time.
double whole_steps(const TraceJob& job, double speed) {
  return std::round(job.duration.in_seconds() * speed);
}

/// What became of the rows, in the words of the reports.
void count_rows(const TraceReport& report, bool fills, WorkloadAccount& account) {
  account.rows_read = report.rows;
  for (std::size_t r = 0; r < kTraceReasons; ++r) {
    const auto reason = static_cast<TraceReason>(r);
    if (fills && reason == TraceReason::ZeroDuration) continue;  // Jobs have no times there.
    const auto add = [&](TraceAction action, std::vector<ReasonCount>& to) {
      if (const std::uint64_t count = report.counted(reason, action); count > 0)
        to.push_back({std::string(to_string(reason)), count});
    };
    add(TraceAction::Dropped, account.dropped);
    add(TraceAction::Altered, account.altered);
  }
}

void count_requests(const TraceRequests& requests, const Trace& trace, WorkloadAccount& account) {
  ReasonCount parts{"parts of several devices as whole ones", 0};
  ReasonCount one{"one of several device models", 0};
  ReasonCount none{"device model that the cluster lacks", 0};
  for (const TraceJob& job : trace.jobs) {
    TraceRequests::Notes notes;
    requests.role_of(job, &notes);
    parts.rows += notes.parts_as_whole ? 1 : 0;
    one.rows += notes.one_model ? 1 : 0;
    none.rows += notes.no_model ? 1 : 0;
  }
  for (const ReasonCount& count : {parts, one, none})
    if (count.rows > 0) account.altered.push_back(count);
}

class TraceSource final : public JobSource {
  static constexpr std::size_t kKindsKept = 32;
  // In random order, and all alive at once.
  static constexpr std::size_t kKindsOfFilling = 512;

 public:
  TraceSource(const Scenario& scenario,
              const TraceWorkload& workload,
              const Trace& trace,
              const DeviceSpeeds* speeds)
      : workload_(workload),
        trace_(trace),
        speeds_(speeds),
        requests_(scenario, workload),
        roles_(workload.fill > 0 ? kKindsOfFilling : kKindsKept) {
    if (workload.fill > 0)
      filling_ = filling_order(trace.jobs,
                               workload.fill,
                               devices_of(scenario),
                               Random::stream(scenario.seed, "workload/fill"));
  }

  std::optional<ModelJob> next() override {
    const bool fills = workload_.fill > 0;
    if (at_ == (fills ? filling_.size() : trace_.jobs.size())) return std::nullopt;
    const TraceJob& job = trace_.jobs[fills ? filling_[at_] : at_];
    ++at_;
    ModelJob out;
    std::string label;
    auto spec = training_job(unique_name(job.name, label));
    if (!label.empty()) out.label = label;
    spec->preemptible = workload_.preemptible;
    if (!job.vc.empty()) spec->group = "vc-" + job.vc;
    spec->roles = roles_.of(requests_.role_of(job, nullptr));
    set_estimate(*spec, workload_.estimates, job.duration, job.estimate.value_or(job.duration));
    out.work = work_for(job.duration, std::as_const(*spec).roles[0].min_replicas);
    if (speeds_ != nullptr) count_steps(job, *spec, out);
    out.submit = job.submit;
    if (fills) stay(*spec, out);
    out.spec = std::move(spec);
    return out;
  }

 private:
  /// Of jobs that fill the cluster: its turn, and that it is placed then, for good, or never.
  void stay(JobSpec& spec, ModelJob& out) const {
    constexpr Duration kBetween = Duration::seconds(1);
    out.submit = Instant::zero() + kBetween * static_cast<std::int64_t>(at_ - 1);
    out.work = work_for(kTraceDurationMax, std::as_const(spec).roles[0].min_replicas);
    spec.wait_deadline = Duration{kBetween.ns / 2};
    spec.preemptible = false;
  }

  /// The work in steps, at the speeds of the table.
  void count_steps(const TraceJob& job, JobSpec& spec, ModelJob& out) {
    const auto speed = speeds_->steps_per_second(workload_.speeds_of, job.kind, job.gpus);
    if (!speed) return;  // Rows with durations of their own may be of kinds that are not there.
    spec.profile = job.kind;
    out.speeds = speeds_;
    // Work of no unit would be work without an end.
    out.work.units = std::max(1.0, whole_steps(job, *speed));
    out.work.base_rate = *speed;
  }

  /// A valid name that no job before has; ids of traces may differ in case or punctuation alone.
  std::string unique_name(const std::string& id, std::string& label) {
    std::string name = job_name(id, label);
    if (is_dns_label(name.substr(name.find('.') + 1)) && names_.insert(name).second) return name;
    label = id;
    name = "default.row-" + std::to_string(at_);
    while (!names_.insert(name).second) name += "x";
    return name;
  }

  const TraceWorkload& workload_;
  const Trace& trace_;
  const DeviceSpeeds* speeds_;
  TraceRequests requests_;
  SharedRoles roles_;
  std::vector<std::size_t> filling_;  ///< Of jobs that fill the cluster: who comes when.
  std::size_t at_ = 0;
  std::unordered_set<std::string> names_;  // Looked up, never walked.
};

}  // namespace

TraceRequests::TraceRequests(const Scenario& scenario, const TraceWorkload& workload)
    : per_node_(devices_per_node(scenario)), host_resources_(workload.host_resources) {
  for (const NodeGroup& group : scenario.groups) {
    if (group.devices == 0) continue;
    auto known = std::ranges::find(models_, group.device_model, &ModelDevices::model);
    if (known == models_.end()) known = models_.insert(models_.end(), {group.device_model, 0});
    known->devices += std::int64_t{group.count} * group.devices;
  }
  std::ranges::stable_sort(models_, std::ranges::greater(), &ModelDevices::devices);
}

std::string TraceRequests::model_of(std::string_view accepted, Notes& notes) const {
  const auto accepts = [&](std::string_view model) {
    for (std::string_view rest = accepted; !rest.empty();) {
      const std::size_t bar = std::min(rest.find('|'), rest.size());
      if (rest.substr(0, bar) == model) return true;
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
    return false;
  };
  std::string chosen;
  for (const ModelDevices& each : models_) {
    if (!accepts(each.model)) continue;
    if (!chosen.empty()) {
      notes.one_model = true;
      return chosen;
    }
    chosen = each.model;
  }
  notes.no_model = chosen.empty();
  return chosen;
}

RoleSpec TraceRequests::role_of(const TraceJob& job, Notes* notes) const {
  Notes found;
  RoleSpec role = rigid_role(job.gpus, per_node_);
  const bool equal = job.gpus % job.instances == 0 && job.gpus / job.instances <= per_node_;
  if (equal) {
    role.bundle.devices = job.gpus / job.instances;
    role.min_replicas = role.max_replicas = job.instances;
  }
  const std::int64_t replicas = role.min_replicas;
  if (job.gpu_milli < std::int64_t{1000} * job.gpus) {
    if (role.bundle.devices == 1) {
      role.bundle.share.thousandths = static_cast<std::int32_t>(part_of(job.gpu_milli, replicas));
    } else {
      found.parts_as_whole = true;
    }
  }
  if (!job.models.empty() && job.gpus > 0) role.bundle.device_model = model_of(job.models, found);
  if (host_resources_) {
    role.bundle.cpu.count = part_of(job.cpu_milli, replicas);
    role.bundle.memory.count = part_of(job.memory_mib, replicas) * 1024 * 1024;
  }
  if (notes != nullptr) *notes = found;
  return role;
}

Result<Trace> load_trace(const Scenario& scenario,
                         const TraceWorkload& workload,
                         WorkloadAccount& account) {
  Result<std::string> text = read_workload_file(workload.file, "workload.file");
  if (!text) return text.errors();
  TraceOptions options;
  options.duplicates = workload.duplicates;
  options.zero_gpus = workload.zero_gpus;
  options.censored = workload.censored;
  options.device_model = workload.speeds_of;
  options.untimed = workload.fill > 0;
  const TraceFormat* format = find_trace_format(workload.format->name);
  invariant(format != nullptr, "every format of the language has a reader");
  Result<Trace> trace = read_trace(*format,
                                   workload.file,
                                   std::move(*text),
                                   workload.throughputs,
                                   options,
                                   [](const std::string& path, std::string_view role) {
                                     const bool named = role == "throughputs";
                                     return read_workload_file(
                                         path, named ? "workload.throughputs" : "workload.file");
                                   });
  if (!trace) return trace;
  count_rows(trace->report, workload.fill > 0, account);
  keep_first(trace->jobs, workload.limit, account);
  count_requests(TraceRequests(scenario, workload), *trace, account);
  return trace;
}

Result<std::shared_ptr<const DeviceSpeeds>> load_speeds(const Scenario& scenario,
                                                        const TraceWorkload& workload) {
  std::shared_ptr<const DeviceSpeeds> none;
  if (workload.throughputs.empty()) return none;
  Result<std::string> text = read_workload_file(workload.throughputs, "workload.throughputs");
  if (!text) return text.errors();
  Result<DeviceSpeeds> table = parse_gavel_throughputs(*text, workload.throughputs);
  if (!table) return table.errors();
  for (const NodeGroup& group : scenario.groups)
    if (group.devices > 0 && !table->has_model(group.device_model)) return none;
  return std::make_shared<const DeviceSpeeds>(std::move(*table));
}

void count_short_jobs(const TraceWorkload& workload,
                      const Trace& trace,
                      const DeviceSpeeds& speeds,
                      WorkloadAccount& account) {
  if (workload.fill > 0) return;  // Jobs have no times there.
  ReasonCount rows{"time too short for a step, taken as one", 0};
  for (const TraceJob& job : trace.jobs) {
    const auto speed = speeds.steps_per_second(workload.speeds_of, job.kind, job.gpus);
    if (speed && whole_steps(job, *speed) < 1) ++rows.rows;
  }
  if (rows.rows > 0) account.altered.push_back(rows);
}

std::unique_ptr<JobSource> play_trace(const Scenario& scenario,
                                      const TraceWorkload& workload,
                                      const Trace& trace,
                                      const DeviceSpeeds* speeds) {
  return std::make_unique<TraceSource>(scenario, workload, trace, speeds);
}

}  // namespace orrery::sim
