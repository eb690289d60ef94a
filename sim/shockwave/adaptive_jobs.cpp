#include "sim/shockwave/adaptive_jobs.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "sim/traces/trace.hpp"

namespace orrery::sim {
namespace {

std::string job_type(const AdaptiveTraining& training, int batch) {
  return training.model + " (batch size " + std::to_string(batch) + ")";
}

/// Equal for jobs of equal profile.
std::string profile_name(const AdaptiveTraining& training) {
  return job_type(training, training.batch) + " x" + std::to_string(training.gpus) + " " +
         std::string(to_string(training.adaptation)) + " " + std::to_string(training.epochs);
}

class EpochTimer {
 public:
  EpochTimer(std::string_view file, const DeviceSpeeds& speeds, std::string_view model)
      : errors_(file), speeds_(speeds), model_(model) {}

  Result<AdaptiveWorkload> time(std::vector<AdaptiveSubmission> submissions) {
    AdaptiveWorkload out;
    if (!speeds_.has_model(model_)) {
      errors_.add(0,
                  "device model",
                  "is " + quote_input(model_) + ", but the throughput table knows " +
                      speeds_.model_names() + "; choose one of them");
      return errors_.take();
    }
    for (AdaptiveSubmission& submission : submissions) {
      AdaptiveJob job{std::move(submission), {}, {}};
      job.profile = profile_name(job.submission.training);
      if (!out.profiles.contains(job.profile))
        out.profiles.emplace(job.profile, profile_of(job.submission));
      job.work = work_of(job.submission);
      out.jobs.push_back(std::move(job));
    }
    if (!errors_.empty()) return errors_.take();
    return out;
  }

 private:
  /// Steps a second; 1 after an error.
  double speed(const AdaptiveSubmission& job, int batch) {
    const AdaptiveTraining& training = job.training;
    const std::string type = job_type(training, batch);
    if (const auto speed = speeds_.steps_per_second(model_, type, training.gpus)) return *speed;
    if (job.line != last_line_)
      errors_.add(job.line,
                  "throughputs",
                  "the table has no speed of " + quote_input(type) + " on " +
                      std::to_string(training.gpus) + " GPUs of " + std::string(model_) +
                      ", which some epoch of the job needs; add it or delete the line");
    last_line_ = job.line;
    return 1;
  }

  EpochProfile profile_of(const AdaptiveSubmission& job) {
    const AdaptiveTraining& training = job.training;
    EpochProfile profile{
        training.model, examples_of(training.model), profiled_batches(training), {}};
    for (const int batch : profile.batches)
      profile.seconds.push_back(static_cast<double>(profile.examples) / batch / speed(job, batch));
    return profile;
  }

  scenarios::WorkSpec work_of(const AdaptiveSubmission& job) {
    const AdaptiveTraining& training = job.training;
    const int examples = examples_of(training.model);
    scenarios::WorkSpec work;
    work.units = job.steps / steps_of_epoch(examples, training.batch);
    work.base_replicas = training.gpus;
    work.follows_model = true;
    auto phases = std::make_shared<std::vector<scenarios::WorkPhase>>();
    int last = 0;
    const std::vector<int> batches = trained_batches(training);
    for (std::size_t epoch = 0; epoch < batches.size(); ++epoch) {
      const int batch = batches[epoch];
      if (batch != last)
        phases->push_back({0, speed(job, batch) / steps_of_epoch(examples, batch)});
      phases->back().until = static_cast<double>(epoch + 1);
      last = batch;
    }
    work.phases = std::move(phases);
    return work;
  }

  TraceErrors errors_;
  const DeviceSpeeds& speeds_;
  std::string_view model_;
  std::size_t last_line_ = 0;
};

}  // namespace

Result<AdaptiveWorkload> time_epochs(std::vector<AdaptiveSubmission> submissions,
                                     std::string_view file_name,
                                     const DeviceSpeeds& speeds,
                                     std::string_view device_model) {
  return EpochTimer(file_name, speeds, device_model).time(std::move(submissions));
}

}  // namespace orrery::sim
