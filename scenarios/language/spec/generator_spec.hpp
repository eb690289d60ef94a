// Workloads made from a seed, as plain data: arrivals, sizes, durations, estimates and flags of
// jobs. sim/workload draws the jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace orrery::scenarios {

/// Always the same duration.
struct FixedDuration {
  Duration value;
};

struct ExponentialDuration {
  Duration mean;
};

/// exp of a normal number: half are below `median`; `sigma` is the standard deviation of the
/// natural logarithm, 0 or more. About 10% exceed median x exp(1.28 sigma).
struct LognormalDuration {
  Duration median;
  double sigma = 1.0;
};

/// `shape` below 1 is heavy-tailed, 1 is exponential with mean `scale`.
struct WeibullDuration {
  double shape = 1.0;
  Duration scale;
};

/// Power law of exponent -(shape + 1) between `low` and `high`.
struct BoundedParetoDuration {
  double shape = 1.0;
  Duration low;
  Duration high;
};

using DurationShape = std::variant<FixedDuration,
                                   ExponentialDuration,
                                   LognormalDuration,
                                   WeibullDuration,
                                   BoundedParetoDuration>;

/// One shape, or a mixture of several: each draw takes part i with probability weight_i / sum.
struct DurationDistribution {
  struct Part {
    double weight = 1.0;  ///< Above 0.
    DurationShape shape;
  };

  std::vector<Part> parts;                        ///< At least one.
  Duration shortest = Duration::seconds(1);       ///< Shorter draws become this; above 0.
  Duration longest = Duration::seconds(4628226);  ///< Longer draws become this (53.6 days).

  /// A single shape.
  static DurationDistribution of(DurationShape shape) { return {.parts = {{1.0, shape}}}; }
};

/// What is wrong with `distribution`, each error naming `subject` and a field of it; empty when
/// nothing is.
Errors check(const DurationDistribution& distribution, const std::string& subject);

/// Jobs of one size.
struct GpuClass {
  std::string name;     ///< For whoever reads the file; empty is allowed.
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
  std::int64_t cluster_gpus = 0;                ///< Needed with `load`; 1 or more.
  double amplitude = 0.0;                       ///< 0 to 1.
  Duration period = Duration::seconds(86'400);  ///< Above 0.
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

}  // namespace orrery::scenarios
