#include "sim/traces/pai_tables.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

enum JobColumn : std::size_t { JobName, JobInstId, JobUser, JobStatus, JobStart, JobEnd };

constexpr std::array<CsvColumn, 6> kJobColumns = {
    {{"job_name"}, {"inst_id"}, {"user"}, {"status"}, {"start_time"}, {"end_time"}}};

enum TaskColumn : std::size_t {
  TaskJob,
  TaskName,
  TaskInstances,
  TaskStatus,
  TaskStart,
  TaskEnd,
  PlanCpu,
  PlanMemory,
  PlanGpu,
  TaskGpuType,
};

constexpr std::array<CsvColumn, 10> kTaskColumns = {{{"job_name"},
                                                     {"task_name"},
                                                     {"inst_num"},
                                                     {"status"},
                                                     {"start_time"},
                                                     {"end_time"},
                                                     {"plan_cpu"},
                                                     {"plan_mem"},
                                                     {"plan_gpu"},
                                                     {"gpu_type"}}};

enum GroupColumn : std::size_t { GroupInstId, GroupUser, GroupGpuSpec, GroupName, GroupWorkload };

constexpr std::array<CsvColumn, 5> kGroupColumns = {
    {{"inst_id"}, {"user"}, {"gpu_type_spec"}, {"group"}, {"workload"}}};

enum InstanceColumn : std::size_t { InstanceJob = 0, InstanceStart = 6 };

constexpr std::array<CsvColumn, 9> kInstanceColumns = {{{"job_name"},
                                                        {"task_name"},
                                                        {"inst_name"},
                                                        {"worker_name"},
                                                        {"inst_id"},
                                                        {"status"},
                                                        {"start_time"},
                                                        {"end_time"},
                                                        {"machine"}}};

/// One job while its tables are put together.
struct PaiJob {
  TraceJob job;
  std::optional<Instant> start;
  std::optional<Instant> end;
  bool task_started = false;  // Otherwise instances tell when it started.
  int tasks = 0;
  int gpu_instances = 0;
  int instances = 0;
};

class PaiReader {
 public:
  PaiReader(const PaiTables& tables, const TraceOptions& options)
      : tables_(tables), builder_(tables.jobs->path, "pai", options) {}

  Result<Trace> read() {
    Errors errors;
    read_table(*tables_.jobs, kJobColumns, errors, &PaiReader::read_job);
    read_table(*tables_.tasks, kTaskColumns, errors, &PaiReader::read_task);
    if (tables_.groups != nullptr)
      read_table(*tables_.groups, kGroupColumns, errors, &PaiReader::read_group);
    if (tables_.instances != nullptr)
      read_table(*tables_.instances, kInstanceColumns, errors, &PaiReader::read_instance);
    if (!errors.empty()) return errors;
    for (PaiJob& job : jobs_) judge(job);
    return builder_.finish();
  }

 private:
  /// Errors of each table name its own file.
  void read_table(const TraceFile& file,
                  std::span<const CsvColumn> columns,
                  Errors& to,
                  void (PaiReader::*read_row)(const CsvRows&, FieldReader&)) {
    TraceErrors errors(file.path);
    FieldReader fields(errors);
    CsvRows rows(file.text, columns, false, errors);
    while (rows.next()) {
      fields.start(rows.line());
      (this->*read_row)(rows, fields);
    }
    for (Error& error : errors.take()) to.push_back(std::move(error));
  }

  std::optional<Instant> time(const CsvRows& rows, FieldReader& fields, std::size_t column) {
    if (rows.field(column).empty()) return std::nullopt;
    const Instant at = fields.time(rows.name(column), rows.field(column));
    builder_.mention(at);
    return at;
  }

  /// The job of a row of another table; a row without one is counted.
  PaiJob* job_of(std::string_view name) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return &jobs_[found->second];
    if (dropped_.contains(name)) return nullptr;
    ++builder_.report().rows;
    builder_.drop(TraceReason::NoJob);
    return nullptr;
  }

  void read_job(const CsvRows& rows, FieldReader& fields) {
    if (!builder_.row(rows.row())) return;
    PaiJob entry;
    TraceJob& job = entry.job;
    job.gpus = 0;  // Its tasks add theirs.
    job.name = rows.field(JobName);
    if (job.name.empty()) fields.refuse("job_name", "", "the name of the job");
    job.user = rows.field(JobUser);
    const std::string_view status = rows.field(JobStatus);
    if (status == "Terminated") {
      job.status = TraceStatus::Pass;
    } else if (status == "Failed") {
      job.status = TraceStatus::Failed;
    } else if (status != "Running" && status != "Waiting") {
      fields.refuse("status", status, "one of Terminated, Failed, Running, Waiting");
    }
    const auto submit = time(rows, fields, JobStart);
    entry.end = time(rows, fields, JobEnd);
    if (!fields.ok()) return;
    const bool known = by_name_.contains(rows.field(JobName));
    if (!submit || known) {
      // A second row of a name would share the first one's tasks.
      builder_.drop(known ? TraceReason::NameUsedBefore : TraceReason::NoSubmitTime);
      if (!known) dropped_.insert(rows.field(JobName));
      return;
    }
    job.submit = *submit;
    by_name_.emplace(rows.field(JobName), jobs_.size());
    by_inst_.emplace(rows.field(JobInstId), jobs_.size());
    jobs_.push_back(std::move(entry));
  }

  void read_task(const CsvRows& rows, FieldReader& fields) {
    const auto plan = [&](TaskColumn column, std::int64_t unit, double high) {
      const std::string_view text = rows.field(column);
      return text.empty() ? 0 : fields.thousandths(rows.name(column), text, unit, 0, high);
    };
    const std::string_view count = rows.field(TaskInstances);
    const auto instances =
        static_cast<int>(fields.whole("inst_num", count.empty() ? "1" : count, 1, kTraceGpusMax));
    const auto start = time(rows, fields, TaskStart);
    time(rows, fields, TaskEnd);
    const std::int64_t cpu = plan(PlanCpu, 10, 1e8);
    const std::int64_t memory = plan(PlanMemory, 1024, 1e6);
    const std::int64_t gpu = plan(PlanGpu, 10, 100'000);
    PaiJob* entry = fields.ok() ? job_of(rows.field(TaskJob)) : nullptr;
    if (entry == nullptr) return;
    if (entry->instances + std::int64_t{instances} > kTraceGpusMax)
      return fields.refuse("inst_num", count, "a job of at most 1000000 instances in all");
    TraceJob task;
    set_gpus(task, instances, gpu);
    if (std::int64_t{entry->job.gpus} + (gpu + 999) / 1000 * instances > kTraceGpusMax)
      return fields.refuse("plan_gpu", rows.field(PlanGpu), "a job of at most 1000000 GPUs in all");
    ++entry->tasks;
    entry->instances += instances;
    if (gpu > 0) entry->gpu_instances += instances;
    entry->job.gpus += task.gpus;
    entry->job.gpu_milli += task.gpu_milli;
    entry->job.cpu_milli += cpu * instances;
    entry->job.memory_mib += memory * instances;
    if (gpu > 0 && entry->job.models.empty()) entry->job.models = rows.field(TaskGpuType);
    note_start(*entry, start);
    entry->task_started = entry->start.has_value();
  }

  static void note_start(PaiJob& entry, std::optional<Instant> start) {
    if (start) entry.start = entry.start ? std::min(*entry.start, *start) : *start;
  }

  void read_group(const CsvRows& rows, FieldReader&) {
    const auto found = by_inst_.find(rows.field(GroupInstId));
    if (found == by_inst_.end()) return;  // Of one of the trace's instances that has no job here.
    TraceJob& job = jobs_[found->second].job;
    if (!rows.field(GroupGpuSpec).empty()) job.models = rows.field(GroupGpuSpec);
    job.kind = rows.field(GroupWorkload);
  }

  void read_instance(const CsvRows& rows, FieldReader& fields) {
    const auto start = time(rows, fields, InstanceStart);
    time(rows, fields, InstanceStart + 1);
    if (!fields.ok()) return;
    PaiJob* entry = job_of(rows.field(InstanceJob));
    if (entry != nullptr && !entry->task_started) note_start(*entry, start);
  }

  void judge(PaiJob& entry) {
    if (entry.tasks == 0) return builder_.drop(TraceReason::NoTasks);
    TraceJob& job = entry.job;
    if (!entry.start) return builder_.drop(TraceReason::NeverStarted);
    if (*entry.start < job.submit || (entry.end && *entry.end < *entry.start))
      return builder_.drop(TraceReason::EndsBeforeStart);
    job.instances = entry.gpu_instances > 0 ? entry.gpu_instances : entry.instances;
    job.waited = *entry.start - job.submit;
    if (entry.tasks > 1) builder_.altered(TraceReason::SeveralTasks);
    if (!entry.end) return builder_.add_censored(std::move(job), *entry.start);
    job.duration = *entry.end - *entry.start;
    builder_.add(std::move(job));
  }

  const PaiTables& tables_;
  TraceBuilder builder_;
  std::vector<PaiJob> jobs_;
  // Looked up, never walked.
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, std::size_t> by_inst_;
  std::unordered_set<std::string_view> dropped_;
};

}  // namespace

bool looks_like_pai_jobs(std::string_view text) {
  const std::string line = line_without_quotes(text);
  if (std::count(line.begin(), line.end(), ',') != 5) return false;
  for (const std::string_view status : {",Terminated,", ",Failed,", ",Running,", ",Waiting,"})
    if (line.find(status) != std::string::npos) return true;
  return false;
}

Result<Trace> parse_pai_tables(const PaiTables& tables, const TraceOptions& options) {
  return PaiReader(tables, options).read();
}

Result<Trace> TraceReader<"pai">::read(TraceFiles files, const TraceOptions& options) {
  return parse_pai_tables({.jobs = files.data(),
                           .tasks = file_of(files, "tasks"),
                           .groups = file_of(files, "groups"),
                           .instances = file_of(files, "instances")},
                          options);
}

}  // namespace orrery::sim
