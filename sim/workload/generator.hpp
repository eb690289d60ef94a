// Workloads made from a seed: arrivals, sizes, durations, estimates and flags of jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sim/workload/duration_distribution.hpp"

namespace orrery::sim {

/// Jobs of one size.
struct GpuClass {
  std::string name;     ///< Shown in results; empty is allowed.
  int gpus = 1;         ///< 1 or more.
  double weight = 1.0;  ///< Share of jobs is weight / sum of weights; 0 or more.
  std::optional<DurationDistribution> duration;  ///< Otherwise the workload's own.
};

/// When jobs arrive: a Poisson process, whose rate may swing over the day.
///
/// rate(t) = mean rate x (1 + amplitude x cos(2 pi (t - peak_at) / period)). Amplitude 0 is the
/// plain Poisson process. Exactly one of `jobs_per_hour` and `load` is above 0.
struct ArrivalSpec {
  double jobs_per_hour = 0.0;  ///< Mean rate.
  /// Offered load: GPU time of all jobs / (cluster_gpus x time of all arrivals at the mean rate).
  /// 1 asks for exactly what the cluster has. The mean rate follows from the jobs that the seed
  /// really gives, so one long job in a heavy tail does not move the load.
  double load = 0.0;
  std::int64_t cluster_gpus = 0;                   ///< Needed with `load`; 1 or more.
  double amplitude = 0.0;                          ///< 0 to 1.
  Duration period = Duration::seconds(24 * 3600);  ///< Above 0.
  Duration peak_at = Duration::zero();  ///< A time of the highest rate, from the run's start.
};

/// The stated estimate is the true duration.
struct ExactEstimate {};

/// The estimate is the true duration x a uniform factor.
struct UniformEstimate {
  double low = 1.0;   ///< Above 0.
  double high = 1.0;  ///< At least `low`.
};

/// The estimate is the true duration x a lognormal factor; half of the factors are below `median`.
struct LognormalEstimate {
  double median = 1.0;  ///< Above 0.
  double sigma = 0.0;   ///< 0 or more.
};

using EstimateError = std::variant<ExactEstimate, UniformEstimate, LognormalEstimate>;

/// All that describes a generated workload. Equal specs give equal jobs on every machine; each
/// aspect draws from a random stream of its own, so that changing one leaves the others as they
/// were.
struct GeneratorSpec {
  std::uint64_t seed = 1;
  std::uint64_t jobs = 1000;
  ArrivalSpec arrivals;
  DurationDistribution duration =
      DurationDistribution::of(LognormalDuration{Duration::seconds(1144), 1.8});
  std::vector<GpuClass> gpu_mix = {{.name = "1 GPU", .gpus = 1}};
  double preemptible_share = 0.0;  ///< Of all jobs, 0 to 1.
  double elastic_share = 0.0;      ///< Of the preemptible jobs, 0 to 1.
  int elastic_shrink = 2;          ///< An elastic job runs on gpus / this at least, rounded up.
  int elastic_grow = 2;            ///< An elastic job runs on gpus x this at most.
  EstimateError estimate;
  std::uint32_t users = 1;  ///< 1 or more.
  double user_skew = 0.0;   ///< User k (from 0) has weight (k + 1)^-skew; 0 or more.
};

/// All that is wrong with `spec`, each error naming a field below `subject`; empty when nothing is.
Errors check(const GeneratorSpec& spec, const std::string& subject = "workload.generator");

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

  /// Mean arrival rate, given or found from the load.
  double jobs_per_second() const { return jobs_per_second_; }

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
  double jobs_per_second_ = 0.0;
  double clock_s_ = 0.0;
  std::uint64_t made_ = 0;
};

}  // namespace orrery::sim
