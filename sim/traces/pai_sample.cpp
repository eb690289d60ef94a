#include "sim/traces/pai_sample.hpp"

#include <array>
#include <utility>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

enum Column : std::size_t {
  JobId,
  User,
  NumGpu,
  NumCpu,
  NumInst,
  SubmitTime,
  DurationColumn,
  GpuType,
  WaitTime,
  GroupGpuDur,
  GroupDur,
  UserGpuDur,
  UserDur,
};

constexpr std::array<CsvColumn, 13> kColumns = {{{"job_id"},
                                                 {"user"},
                                                 {"num_gpu"},
                                                 {"num_cpu"},
                                                 {"num_inst", false},
                                                 {"submit_time"},
                                                 {"duration"},
                                                 {"gpu_type", false},
                                                 {"wait_time", false},
                                                 {"group_gpu_dur", false},
                                                 {"group_dur", false},
                                                 {"user_gpu_dur", false},
                                                 {"user_dur", false}}};

class PaiSampleReader {
 public:
  PaiSampleReader(std::string_view text, std::string_view file, const TraceOptions& options)
      : builder_(file, "pai-sample", options),
        rows_(text, kColumns, true, builder_.errors()),
        fields_(builder_.errors()) {}

  Result<Trace> read() {
    while (rows_.next()) read_row();
    return builder_.finish();
  }

 private:
  std::string_view text(Column column, std::string_view where_blank) const {
    const std::string_view field = rows_.field(column);
    return field.empty() ? where_blank : field;
  }

  void read_row() {
    if (!builder_.row(rows_.row())) return;
    fields_.start(rows_.line());
    TraceJob job;
    job.name = rows_.field(JobId);
    if (job.name.empty()) fields_.refuse("job_id", "", "the id of the job");
    job.user = rows_.field(User);
    const auto instances =
        static_cast<int>(fields_.whole("num_inst", text(NumInst, "1"), 1, kTraceGpusMax));
    set_gpus(job, instances, fields_.thousandths("num_gpu", text(NumGpu, "0"), 1000, 0, 1000));
    if (job.gpus > kTraceGpusMax)
      fields_.refuse("num_gpu", rows_.field(NumGpu), "a request of at most 1000000 GPUs in all");
    job.cpu_milli = fields_.thousandths("num_cpu", text(NumCpu, "0"), 1000, 0, 1e6) * instances;
    job.submit = fields_.time("submit_time", text(SubmitTime, "1"));
    job.duration = duration();
    if (const std::string_view model = rows_.field(GpuType); model != "CPU") job.models = model;
    if (!rows_.field(WaitTime).empty())
      job.waited = fields_.seconds("wait_time", rows_.field(WaitTime), kTraceDurationMax);
    read_estimate(job);
    if (fields_.ok()) builder_.add(std::move(job));
  }

  Duration duration() {
    const std::string_view field = rows_.field(DurationColumn);
    const auto ns = nanoseconds_in(field);
    if (ns && *ns <= 0) return Duration::zero();
    return fields_.seconds("duration", field, kTraceDurationMax);
  }

  void read_estimate(TraceJob& job) {
    for (const Column column : {GroupGpuDur, GroupDur, UserGpuDur, UserDur}) {
      const std::string_view field = rows_.field(column);
      if (field.empty()) continue;
      job.estimate = fields_.seconds(rows_.name(column), field, kTraceDurationMax);
      return;
    }
  }

  TraceBuilder builder_;
  CsvRows rows_;
  FieldReader fields_;
};

}  // namespace

bool looks_like_pai_sample(std::string_view text) {
  return header_has(text, {"job_id", "num_gpu", "num_cpu", "submit_time"});
}

Result<Trace> parse_pai_sample(std::string_view text,
                               std::string_view file_name,
                               const TraceOptions& options) {
  return PaiSampleReader(text, file_name, options).read();
}

}  // namespace orrery::sim
