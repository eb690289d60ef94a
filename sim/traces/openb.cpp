#include "sim/traces/openb.hpp"

#include <array>
#include <utility>
#include <vector>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

enum Column : std::size_t {
  Name,
  CpuMilli,
  MemoryMib,
  NumGpu,
  GpuMilli,
  GpuSpec,
  Qos,
  PodPhase,
  CreationTime,
  DeletionTime,
  ScheduledTime,
};

constexpr std::array<CsvColumn, 11> kColumns = {{{"name"},
                                                 {"cpu_milli"},
                                                 {"memory_mib"},
                                                 {"num_gpu"},
                                                 {"gpu_milli"},
                                                 {"gpu_spec", false},
                                                 {"qos", false},
                                                 {"pod_phase", false},
                                                 {"creation_time", false},
                                                 {"deletion_time", false},
                                                 {"scheduled_time", false}}};

constexpr std::int64_t kAmountMax = 1'000'000'000'000;

/// A row that gives a job; when it ended is judged once the last time of the file is known.
struct Task {
  TraceJob job;
  Instant start;
  Instant end;
  bool running = false;
  bool has_end = false;
};

class OpenbReader {
 public:
  OpenbReader(std::string_view text, std::string_view file, const TraceOptions& options)
      : untimed_(options.untimed),
        builder_(file, "openb", options),
        rows_(text, kColumns, true, builder_.errors()),
        fields_(builder_.errors()) {}

  Result<Trace> read() {
    while (rows_.next()) read_row();
    for (Task& task : tasks_) judge(std::move(task));
    return builder_.finish();
  }

 private:
  bool timed() const { return !untimed_ && rows_.has(CreationTime) && rows_.has(ScheduledTime); }

  Instant time(Column column) {
    const Instant at = fields_.time(rows_.name(column), rows_.field(column));
    builder_.mention(at);
    last_ = std::max(last_, at);
    return at;
  }

  void read_row() {
    if (!builder_.row(rows_.row())) return;
    fields_.start(rows_.line());
    Task task;
    read_request(task.job);
    if (!timed()) {
      if (fields_.ok()) tasks_.push_back(std::move(task));
      return;
    }
    task.job.submit = time(CreationTime);
    const bool started = !rows_.field(ScheduledTime).empty();
    if (started) task.start = time(ScheduledTime);
    task.has_end = !rows_.field(DeletionTime).empty();
    if (task.has_end) task.end = time(DeletionTime);
    read_phase(task);
    if (!fields_.ok()) return;
    if (!started) return builder_.drop(TraceReason::NeverStarted);
    if (task.start < task.job.submit || (task.has_end && task.end < task.start))
      return builder_.drop(TraceReason::EndsBeforeStart);
    task.job.waited = task.start - task.job.submit;
    tasks_.push_back(std::move(task));
  }

  void read_request(TraceJob& job) {
    const auto whole = [&](Column column, std::int64_t high) {
      return fields_.whole(rows_.name(column), rows_.field(column), 0, high);
    };
    job.name = rows_.field(Name);
    if (job.name.empty()) fields_.refuse("name", "", "the name of the task");
    job.cpu_milli = whole(CpuMilli, kAmountMax);
    job.memory_mib = whole(MemoryMib, kAmountMax);
    job.gpus = static_cast<int>(whole(NumGpu, kTraceGpusMax));
    const std::int64_t each = whole(GpuMilli, 1000);
    if (fields_.ok() && job.gpus > 0 && each == 0)
      fields_.refuse("gpu_milli", rows_.field(GpuMilli), "a number from 1 to 1000 for each GPU");
    if (job.gpus > 1 && each < 1000)
      fields_.refuse("gpu_milli", rows_.field(GpuMilli), "1000 for a task of several GPUs");
    job.gpu_milli = each * job.gpus;
    job.models = rows_.field(GpuSpec);
    job.kind = rows_.field(Qos);
  }

  void read_phase(Task& task) {
    const std::string_view phase = rows_.field(PodPhase);
    if (phase == "Running") {
      task.running = true;
    } else if (phase == "Succeeded") {
      task.job.status = TraceStatus::Pass;
    } else if (phase == "Failed") {
      task.job.status = TraceStatus::Failed;
    } else if (phase != "Pending" && rows_.has(PodPhase)) {
      fields_.refuse("pod_phase", phase, "one of Running, Failed, Pending, Succeeded");
    }
  }

  void judge(Task task) {
    if (!task.has_end || (task.running && task.end == last_)) {
      builder_.add_censored(std::move(task.job), task.start);
      return;
    }
    task.job.duration = task.end - task.start;
    builder_.add(std::move(task.job));
  }

  bool untimed_;
  TraceBuilder builder_;
  CsvRows rows_;
  FieldReader fields_;
  std::vector<Task> tasks_;
  Instant last_;
};

}  // namespace

bool looks_like_openb(std::string_view text) {
  return header_has(text, {"num_gpu,gpu_milli", "cpu_milli"});
}

Result<Trace> parse_openb(std::string_view text,
                          std::string_view file_name,
                          const TraceOptions& options) {
  return OpenbReader(text, file_name, options).read();
}

}  // namespace orrery::sim
