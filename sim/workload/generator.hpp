// Workloads made from a seed: the jobs of a description in
// scenarios/language/spec/generator_spec.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/generator_spec.hpp"
#include "sim/workload/duration_distribution.hpp"

namespace orrery::sim {

using scenarios::ArrivalSpec;
using scenarios::EstimateError;
using scenarios::ExactEstimate;
using scenarios::GeneratorSpec;
using scenarios::GpuClass;
using scenarios::LognormalEstimate;
using scenarios::UniformEstimate;

/// One job of a generated workload.
struct GeneratedJob {
  std::uint64_t index = 0;      ///< From 0, in order of submission.
  Instant submit;               ///< From the run's start; never before the job before it.
  Duration duration;            ///< On `gpus` GPUs, without waiting or restarts.
  Duration estimate;            ///< What the user states; above 0.
  int gpus = 1;                 ///< Requested.
  int gpus_min = 1;             ///< Equals `gpus` unless elastic.
  int gpus_max = 1;             ///< Equals `gpus` unless elastic.
  bool preemptible = false;     ///< Always true for an elastic job.
  std::uint32_t gpu_class = 0;  ///< Index into the spec's gpu_mix.
  std::uint32_t user = 0;       ///< 0 to users - 1.
};

/// The jobs of a spec, one by one, each made when asked for. A copy continues alike.
class JobStream {
 public:
  /// `spec` must have passed `check`. With a `load`, draws all sizes and durations once ahead,
  /// keeping only their sum: about a quarter of the time of the whole stream.
  explicit JobStream(GeneratorSpec spec);

  /// The next job, or nothing after the last.
  std::optional<GeneratedJob> next();

  const GeneratorSpec& spec() const { return spec_; }

 private:
  /// What decides the work of a job.
  struct Size {
    std::uint32_t gpu_class = 0;
    Duration duration;
  };

  Size draw_size(Random& sizes, Random& durations) const;
  double rate_for_load() const;
  Instant draw_arrival();
  Duration draw_estimate(Duration duration);
  std::uint32_t draw_user();

  GeneratorSpec spec_;
  std::vector<double> class_weights_;
  std::vector<DurationSampler> samplers_;  // One for each GPU class.
  std::vector<double> user_weight_sums_;   // Of user 0 up to and with user k.
  Random arrivals_;
  Random sizes_;
  Random durations_;
  Random flags_;
  Random estimates_;
  Random users_;
  double jobs_per_second_ = 0.0;  // Mean arrival rate, given or found from the load.
  double clock_s_ = 0.0;
  std::uint64_t made_ = 0;
};

}  // namespace orrery::sim
