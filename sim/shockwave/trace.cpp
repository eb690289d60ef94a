#include "sim/shockwave/trace.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/traces/fields.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kWidth = 12;
constexpr int kBatchMax = 1'000'000;
constexpr int kEpochsMax = 1'000'000;
constexpr double kStepsMax = 1e12;

enum Column : std::size_t {
  JobType,
  Command,
  Folder,
  StepsArgument,
  NeedsData,
  Steps,
  Gpus,
  Mode,
  Weight,
  Slo,
  DurationS,
  Arrival
};

struct ModelAndBatch {
  std::string model;
  int batch;
};

/// "LM (batch size 10)" in its two parts.
std::optional<ModelAndBatch> parts_of(std::string_view job_type) {
  constexpr std::string_view between = " (batch size ";
  const std::size_t at = job_type.find(between);
  if (at == std::string_view::npos || at == 0 || !job_type.ends_with(")")) return std::nullopt;
  const std::size_t from = at + between.size();
  const auto batch = whole_number_in(job_type.substr(from, job_type.size() - 1 - from));
  if (!batch || *batch < 1 || *batch > kBatchMax) return std::nullopt;
  return ModelAndBatch{std::string(job_type.substr(0, at)), static_cast<int>(*batch)};
}

class ShockwaveReader {
 public:
  explicit ShockwaveReader(std::string_view file) : errors_(file), fields_(errors_) {}

  Result<std::vector<AdaptiveSubmission>> read(std::string_view text) {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::string_view row = take_line(text);
      fields_.start(line);
      if (!trimmed(row).empty()) read_row(row);
    }
    if (errors_.empty() && jobs_.empty())
      errors_.add(1, "trace", "holds no job, one at least is needed; add a line");
    if (!errors_.empty()) return errors_.take();
    std::stable_sort(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return a.submit < b.submit;
    });
    return std::move(jobs_);
  }

 private:
  void read_row(std::string_view row) {
    std::vector<std::string_view> fields;
    split(row, '\t', fields);
    for (std::string_view& field : fields) field = trimmed(field);
    if (fields.size() != kWidth) {
      errors_.add_wrong_width(
          fields_.line(), fields.size(), row, "a trace of Shockwave has 12, between tabs");
      return;
    }
    AdaptiveSubmission job;
    job.line = fields_.line();
    read_training(fields, job);
    fields_.whole("needs data", fields[NeedsData], 0, 1);
    job.weight = fields_.number("priority weight", fields[Weight], 1e-6, 1e6);
    fields_.number("SLO", fields[Slo], -1, 1e6);
    job.duration = fields_.seconds("duration", fields[DurationS], kTraceDurationMax);
    job.submit = fields_.time("arrival time", fields[Arrival]);
    if (fields_.ok()) jobs_.push_back(std::move(job));
  }

  void read_training(const std::vector<std::string_view>& fields, AdaptiveSubmission& job) {
    AdaptiveTraining& training = job.training;
    job.job_type = fields[JobType];
    const std::optional<ModelAndBatch> parts = parts_of(fields[JobType]);
    const bool known = parts && examples_of(parts->model) > 0;
    if (known) {
      training.model = parts->model;
      training.batch = parts->batch;
    } else {
      fields_.refuse("job type",
                     fields[JobType],
                     "a model and its batch, as in \"LM (batch size 10)\", of ResNet-18, "
                     "ResNet-50, Transformer, LM, Recommendation, CycleGAN or A3C");
    }
    training.gpus = static_cast<int>(fields_.whole("scale factor", fields[Gpus], 1, kTraceGpusMax));
    if (const auto mode = enum_from<BatchAdaptation>(fields[Mode]))
      training.adaptation = *mode;
    else
      fields_.refuse("mode", fields[Mode], "one of static, accordion, gns");
    job.steps = fields_.number("steps", fields[Steps], 1, kStepsMax);
    if (!known) return;
    const double epochs =
        std::ceil(job.steps / steps_of_epoch(examples_of(training.model), training.batch));
    if (epochs > kEpochsMax) {
      fields_.refuse("steps", fields[Steps], "a job of at most 1000000 epochs");
      return;
    }
    training.epochs = static_cast<int>(epochs);
  }

  TraceErrors errors_;
  FieldReader fields_;
  std::vector<AdaptiveSubmission> jobs_;
};

}  // namespace

Result<std::vector<AdaptiveSubmission>> parse_shockwave_trace(std::string_view text,
                                                              std::string_view file_name) {
  return ShockwaveReader(file_name).read(text);
}

}  // namespace orrery::sim
