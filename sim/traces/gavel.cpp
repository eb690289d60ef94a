#include "sim/traces/gavel.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
constexpr double kStepsMax = 1e15;

/// Where the fields stand in one layout.
struct Layout {
  std::size_t width;
  std::size_t needs_data;
  std::size_t steps;
  std::size_t gpus;
  std::size_t arrival;
  std::size_t weight = kAbsent;
  std::size_t slo = kAbsent;
  std::size_t mode = kAbsent;
  std::size_t duration = kAbsent;
};

constexpr std::array<Layout, 3> kLayouts = {
    {{.width = 7, .needs_data = 3, .steps = 4, .gpus = 6, .arrival = 5},
     {.width = 10, .needs_data = 4, .steps = 5, .gpus = 6, .arrival = 9, .weight = 7, .slo = 8},
     {.width = 12,
      .needs_data = 4,
      .steps = 5,
      .gpus = 6,
      .arrival = 11,
      .weight = 8,
      .slo = 9,
      .mode = 7,
      .duration = 10}}};

const Layout* layout_of(std::size_t width) {
  for (const Layout& layout : kLayouts)
    if (layout.width == width) return &layout;
  return nullptr;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  split(line, '\t', fields);
  for (std::string_view& field : fields) field = trimmed(field);
  return fields;
}

class GavelReader {
 public:
  GavelReader(std::string_view file, const TraceOptions& options, const DeviceSpeeds* throughputs)
      : options_(options),
        throughputs_(throughputs),
        builder_(file, "gavel", options),
        fields_(builder_.errors()) {}

  Result<Trace> read(std::string_view text) {
    if (check_model()) {
      for (std::size_t line = 1; !text.empty() && !lacks_table_; ++line) {
        const std::string_view row = take_line(text);
        fields_.start(line);
        if (!trimmed(row).empty()) read_row(row);
      }
    }
    return builder_.finish();
  }

 private:
  bool check_model() {
    if (throughputs_ == nullptr || throughputs_->has_model(options_.device_model)) return true;
    builder_.errors().add(0,
                          "device model",
                          "is " + quote_input(options_.device_model) +
                              ", but the throughput table knows " + throughputs_->model_names() +
                              "; choose one of them");
    return false;
  }

  /// The layout is that of the first line.
  bool choose_layout(std::string_view row, std::size_t width) {
    if (layout_ == nullptr) layout_ = layout_of(width);
    if (layout_ != nullptr && layout_->width == width) return true;
    builder_.errors().add_wrong_width(
        fields_.line(),
        width,
        row,
        layout_ == nullptr ? "7, 10 or 12 fields between tabs are needed"
                           : std::to_string(layout_->width) + " as on the first line are needed");
    return false;
  }

  void read_row(std::string_view row) {
    if (!builder_.row(row)) return;
    const std::vector<std::string_view> fields = fields_of(row);
    if (!choose_layout(row, fields.size())) return;
    const Layout& at = *layout_;
    TraceJob job;
    job.name = "line-" + std::to_string(fields_.line());
    job.kind = fields[0];
    if (job.kind.empty()) fields_.refuse("job type", "", "the type of the job");
    fields_.whole("needs data", fields[at.needs_data], 0, 1);
    const double steps = fields_.number("steps", fields[at.steps], 0, kStepsMax);
    job.gpus = static_cast<int>(fields_.whole("scale factor", fields[at.gpus], 1, kTraceGpusMax));
    job.submit = fields_.time("arrival time", fields[at.arrival]);
    if (at.weight != kAbsent)
      job.weight = fields_.number("priority weight", fields[at.weight], 1e-6, 1e6);
    if (at.slo != kAbsent) fields_.number("SLO", fields[at.slo], -1, 1e6);
    if (at.mode != kAbsent) check_mode(fields[at.mode]);
    if (at.duration != kAbsent) {
      job.duration = fields_.seconds("duration", fields[at.duration], kTraceDurationMax);
      if (fields_.ok()) builder_.add(std::move(job));
    } else if (throughputs_ == nullptr) {
      need_table();
    } else if (fields_.ok()) {
      add_by_steps(std::move(job), steps);
    }
  }

  void check_mode(std::string_view mode) {
    if (mode != "static" && mode != "accordion" && mode != "gns")
      fields_.refuse("mode", mode, "one of static, accordion, gns");
  }

  void need_table() {
    lacks_table_ = true;
    builder_.errors().add(
        fields_.line(),
        "steps",
        "the trace counts steps and has no durations, so a table of throughputs "
        "is needed; name one with --throughputs, or workload.throughputs in a scenario");
  }

  void add_by_steps(TraceJob job, double steps) {
    const auto speed = throughputs_->steps_per_second(options_.device_model, job.kind, job.gpus);
    if (!speed) return builder_.drop(TraceReason::NoThroughput);
    const double seconds = steps / *speed;
    if (seconds > kTraceDurationMax.in_seconds()) {
      fields_.refuse("steps", std::to_string(steps), "a job shorter than 100 years");
      return;
    }
    job.duration = Duration::from_seconds(seconds);
    builder_.add(std::move(job));
  }

  const TraceOptions& options_;
  const DeviceSpeeds* throughputs_;
  TraceBuilder builder_;
  FieldReader fields_;
  const Layout* layout_ = nullptr;
  bool lacks_table_ = false;
};

}  // namespace

bool looks_like_gavel(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!trimmed(line).empty()) return layout_of(fields_of(line).size()) != nullptr;
  }
  return false;
}

Result<Trace> parse_gavel(std::string_view text,
                          std::string_view file_name,
                          const TraceOptions& options,
                          const DeviceSpeeds* throughputs) {
  return GavelReader(file_name, options, throughputs).read(text);
}

Result<Trace> TraceReader<"gavel">::read(TraceFiles files, const TraceOptions& options) {
  const TraceFile* table = file_of(files, kThroughputs);
  if (table == nullptr) return parse_gavel(files[0].text, files[0].path, options);
  const Result<DeviceSpeeds> throughputs = parse_gavel_throughputs(table->text, table->path);
  if (!throughputs) return throughputs.errors();
  return parse_gavel(files[0].text, files[0].path, options, &*throughputs);
}

}  // namespace orrery::sim
