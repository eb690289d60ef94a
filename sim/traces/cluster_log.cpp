#include "sim/traces/cluster_log.hpp"

#include <array>
#include <optional>
#include <utility>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

enum Column : std::size_t {
  JobId,
  User,
  GpuNum,
  CpuNum,
  NodeNum,
  State,
  SubmitTime,
  StartTime,
  EndTime,
  Duration_,
  Vc,
  Type,
  MemPerPod,
};

constexpr std::array<CsvColumn, 13> kColumns = {{{"job_id"},
                                                 {"user"},
                                                 {"gpu_num"},
                                                 {"cpu_num"},
                                                 {"node_num"},
                                                 {"state"},
                                                 {"submit_time"},
                                                 {"start_time"},
                                                 {"end_time"},
                                                 {"duration", false},
                                                 {"vc", false},
                                                 {"type", false},
                                                 {"mem_per_pod_GB", false}}};

constexpr double kAmountMax = 1e9;

class ClusterLogReader {
 public:
  ClusterLogReader(std::string_view text,
                   std::string_view file,
                   std::string_view format,
                   ClusterLogTimes times,
                   const TraceOptions& options)
      : times_(times),
        builder_(file, format, options),
        rows_(text, kColumns, true, builder_.errors()),
        fields_(builder_.errors()) {}

  Result<Trace> read() {
    while (rows_.next()) read_row();
    return builder_.finish();
  }

 private:
  std::optional<Instant> time(Column column) {
    const std::string_view text = rows_.field(column);
    if (text.empty() || text == "None" || text == "NaT" || text == "nan") return std::nullopt;
    std::optional<Instant> at;
    if (times_ == ClusterLogTimes::WithOffset) {
      at = parse_zoned_time(text);
    } else if (const auto local = parse_local_time(text, TraceZone::ChinaTime)) {
      at = local->at;
    }
    if (at) {
      builder_.mention(*at);
    } else {
      fields_.refuse(rows_.name(column),
                     text,
                     times_ == ClusterLogTimes::WithOffset
                         ? "a time with its offset as 2023-05-17 11:00:58+08:00"
                         : "a time as 2020-06-09 18:41:01");
    }
    return at;
  }

  std::int64_t count(Column column, std::int64_t high) {
    return fields_.whole(rows_.name(column), rows_.field(column), 0, high);
  }

  void read_row() {
    if (!builder_.row(rows_.row())) return;
    fields_.start(rows_.line());
    TraceJob job;
    read_request(job);
    const auto submit = time(SubmitTime);
    const auto start = time(StartTime);
    const auto end = time(EndTime);
    job.status = status();
    if (!fields_.ok()) return;
    if (!submit) return builder_.drop(TraceReason::NoSubmitTime);
    job.submit = *submit;
    if (!start) return builder_.drop(TraceReason::NeverStarted);
    if (*start < *submit || (end && *end < *start))
      return builder_.drop(TraceReason::EndsBeforeStart);
    job.waited = *start - *submit;
    if (!end) return builder_.add_censored(std::move(job), *start);
    job.duration = *end - *start;
    compare_duration(job.duration);
    builder_.add(std::move(job));
  }

  void read_request(TraceJob& job) {
    job.name = rows_.field(JobId);
    if (job.name.empty()) fields_.refuse("job_id", "", "the id of the job");
    job.user = rows_.field(User);
    job.vc = rows_.field(Vc);
    job.kind = rows_.field(Type);
    job.gpus = static_cast<int>(count(GpuNum, kTraceGpusMax));
    job.cpu_milli = fields_.thousandths("cpu_num", rows_.field(CpuNum), 1000, 0, kAmountMax);
    const std::int64_t nodes = count(NodeNum, kTraceGpusMax);
    job.instances = static_cast<int>(std::max<std::int64_t>(1, nodes));
    if (const std::string_view memory = rows_.field(MemPerPod); !memory.empty())
      job.memory_mib = fields_.thousandths("mem_per_pod_GB", memory, 1024, 0, 1e6) * job.instances;
  }

  TraceStatus status() const {
    const std::string_view state = rows_.field(State);
    if (state == "COMPLETED") return TraceStatus::Pass;
    if (state == "CANCELLED" || state == "TIMEOUT") return TraceStatus::Killed;
    if (state == "FAILED" || state == "NODE_FAIL") return TraceStatus::Failed;
    return TraceStatus::Unknown;
  }

  void compare_duration(Duration known) {
    const std::string_view text = rows_.field(Duration_);
    if (text.empty()) return;
    const Duration stated = fields_.seconds("duration", text, kTraceDurationMax);
    const Duration apart = stated > known ? stated - known : known - stated;
    if (apart > Duration::seconds(1)) builder_.altered(TraceReason::TimesDisagree);
  }

  ClusterLogTimes times_;
  TraceBuilder builder_;
  CsvRows rows_;
  FieldReader fields_;
};

}  // namespace

Result<Trace> parse_cluster_log(std::string_view text,
                                std::string_view file_name,
                                std::string_view format,
                                ClusterLogTimes times,
                                const TraceOptions& options) {
  return ClusterLogReader(text, file_name, format, times, options).read();
}

}  // namespace orrery::sim
