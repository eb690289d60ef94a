#include "sim/workload/generator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery::sim {
namespace {

constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::int64_t kElasticFactorMax = 1'000;  // Times kGpusMax it still fits an int.
constexpr std::int64_t kUsersMax = 1'000'000;

/// Collects errors, each with the field that it is about.
class Findings {
 public:
  explicit Findings(std::string subject) : subject_(std::move(subject)) {}

  void need(bool condition, const std::string& field, const std::string& message) {
    if (!condition) errors_.push_back({.subject = subject_ + "." + field, .message = message});
  }

  void need_share(double x, const std::string& field) {
    need(x >= 0.0 && x <= 1.0,
         field,
         "it is " + std::to_string(x) + ", but a share is 0 to 1; 0.25 means a quarter");
  }

  void need_whole(std::int64_t n, std::int64_t largest, const std::string& field) {
    need(n >= 1 && n <= largest,
         field,
         "it is " + std::to_string(n) + ", but must be 1 to " + std::to_string(largest) +
             "; give a whole number in that range");
  }

  void add(Errors more) {
    for (Error& error : more) errors_.push_back(std::move(error));
  }

  Errors take() { return std::move(errors_); }

 private:
  std::string subject_;
  Errors errors_;
};

bool at_least_zero(double x) { return std::isfinite(x) && x >= 0.0; }

void check_arrivals(const ArrivalSpec& arrivals, Findings& findings) {
  const bool by_rate = arrivals.jobs_per_hour != 0.0;
  const bool by_load = arrivals.load != 0.0;
  findings.need(by_rate != by_load,
                "arrivals",
                by_rate ? "both jobs_per_hour and load are given, but one follows from the other; "
                          "leave one out"
                        : "neither jobs_per_hour nor load is given, but one is needed; give for "
                          "example load: 0.9");
  findings.need(at_least_zero(arrivals.jobs_per_hour),
                "arrivals.jobs_per_hour",
                "the rate is " + std::to_string(arrivals.jobs_per_hour) +
                    ", but must be above 0; give for example 60");
  findings.need(at_least_zero(arrivals.load),
                "arrivals.load",
                "the load is " + std::to_string(arrivals.load) +
                    ", but must be above 0; 1 asks for all GPUs all the time");
  if (by_load) findings.need_whole(arrivals.cluster_gpus, kGpusMax, "arrivals.cluster_gpus");
  findings.need_share(arrivals.amplitude, "arrivals.amplitude");
  findings.need(arrivals.period > Duration::zero(),
                "arrivals.period",
                "it is " + std::to_string(arrivals.period.in_seconds()) +
                    " s, but must be above 0; give for example 24h");
}

void check_mix(const GeneratorSpec& spec, const std::string& subject, Findings& findings) {
  double total = 0.0;
  for (std::size_t i = 0; i < spec.gpu_mix.size(); ++i) {
    const GpuClass& gpu_class = spec.gpu_mix[i];
    const std::string field = "gpu_mix[" + std::to_string(i) + "]";
    findings.need_whole(gpu_class.gpus, kGpusMax, field + ".gpus");
    findings.need(at_least_zero(gpu_class.weight),
                  field + ".weight",
                  "it is " + std::to_string(gpu_class.weight) + ", but must be 0 or more");
    if (gpu_class.duration) {
      findings.add(check(*gpu_class.duration, subject + "." + field + ".duration"));
    }
    total += gpu_class.weight;
  }
  findings.need(total > 0.0,
                "gpu_mix",
                "no size has a weight above 0, but one is needed; add for example {gpus: 1, "
                "weight: 1}");
}

void check_estimate(const EstimateError& estimate, Findings& findings) {
  if (const auto* uniform = std::get_if<UniformEstimate>(&estimate)) {
    findings.need(
        uniform->low > 0.0 && uniform->low <= uniform->high && std::isfinite(uniform->high),
        "estimate",
        "the factors run from " + std::to_string(uniform->low) + " to " +
            std::to_string(uniform->high) +
            ", but need 0 < low <= high; give for example low: 0.5, high: 3");
  }
  if (const auto* lognormal = std::get_if<LognormalEstimate>(&estimate)) {
    findings.need(lognormal->median > 0.0 && std::isfinite(lognormal->median),
                  "estimate.median",
                  "it is " + std::to_string(lognormal->median) +
                      ", but must be above 0; 1 means right half of the time");
    findings.need(at_least_zero(lognormal->sigma),
                  "estimate.sigma",
                  "it is " + std::to_string(lognormal->sigma) + ", but must be 0 or more");
  }
}

Duration whole_microseconds(Duration d) { return Duration::nanoseconds(d.ns / 1000 * 1000); }

}  // namespace

Errors check(const GeneratorSpec& spec, const std::string& subject) {
  Findings findings(subject);
  check_arrivals(spec.arrivals, findings);
  findings.add(check(spec.duration, subject + ".duration"));
  check_mix(spec, subject, findings);
  findings.need_share(spec.preemptible_share, "preemptible_share");
  findings.need_share(spec.elastic_share, "elastic_share");
  findings.need_whole(spec.elastic_shrink, kElasticFactorMax, "elastic_shrink");
  findings.need_whole(spec.elastic_grow, kElasticFactorMax, "elastic_grow");
  check_estimate(spec.estimate, findings);
  findings.need_whole(spec.users, kUsersMax, "users");
  findings.need(at_least_zero(spec.user_skew),
                "user_skew",
                "it is " + std::to_string(spec.user_skew) + ", but must be 0 or more");
  return findings.take();
}

JobStream::JobStream(GeneratorSpec spec)
    : spec_(std::move(spec)),
      arrivals_(Random::stream(spec_.seed, "workload.arrivals")),
      sizes_(Random::stream(spec_.seed, "workload.sizes")),
      durations_(Random::stream(spec_.seed, "workload.durations")),
      flags_(Random::stream(spec_.seed, "workload.flags")),
      estimates_(Random::stream(spec_.seed, "workload.estimates")),
      users_(Random::stream(spec_.seed, "workload.users")) {
  invariant(check(spec_).empty(), "a generator's spec has been checked");
  for (const GpuClass& gpu_class : spec_.gpu_mix) {
    class_weights_.push_back(gpu_class.weight);
    samplers_.emplace_back(gpu_class.duration ? *gpu_class.duration : spec_.duration);
  }
  double sum = 0.0;
  for (std::uint32_t user = 0; user < spec_.users; ++user) {
    sum += math::pow(static_cast<double>(user) + 1.0, -spec_.user_skew);
    user_weight_sums_.push_back(sum);
  }
  jobs_per_second_ =
      spec_.arrivals.load > 0.0 ? rate_for_load() : spec_.arrivals.jobs_per_hour / 3600.0;
}

std::optional<GeneratedJob> JobStream::next() {
  if (made_ == spec_.jobs) return std::nullopt;
  GeneratedJob job;
  job.index = made_++;
  job.submit = draw_arrival();
  const Size size = draw_size(sizes_, durations_);
  job.gpu_class = size.gpu_class;
  job.duration = size.duration;
  job.gpus = job.gpus_min = job.gpus_max = spec_.gpu_mix[size.gpu_class].gpus;
  job.estimate = draw_estimate(job.duration);
  job.preemptible = flags_.chance(spec_.preemptible_share);
  const bool elastic = flags_.chance(spec_.elastic_share) && job.preemptible;
  if (elastic) {
    job.gpus_min = (job.gpus + spec_.elastic_shrink - 1) / spec_.elastic_shrink;
    job.gpus_max = job.gpus * spec_.elastic_grow;
  }
  job.user = draw_user();
  return job;
}

JobStream::Size JobStream::draw_size(Random& sizes, Random& durations) const {
  const std::size_t index = sizes.choose(class_weights_);
  return {static_cast<std::uint32_t>(index), samplers_[index].draw(durations)};
}

double JobStream::rate_for_load() const {
  if (spec_.jobs == 0) return 1.0;
  Random sizes = sizes_;
  Random durations = durations_;
  double gpu_seconds = 0.0;
  for (std::uint64_t i = 0; i < spec_.jobs; ++i) {
    const Size size = draw_size(sizes, durations);
    gpu_seconds += spec_.gpu_mix[size.gpu_class].gpus * size.duration.in_seconds();
  }
  const double capacity = spec_.arrivals.load * static_cast<double>(spec_.arrivals.cluster_gpus);
  return capacity * static_cast<double>(spec_.jobs) / gpu_seconds;
}

Instant JobStream::draw_arrival() {
  const ArrivalSpec& arrivals = spec_.arrivals;
  // Thinning: candidates come at the highest rate and are kept with probability rate / highest.
  const double highest = jobs_per_second_ * (1.0 + arrivals.amplitude);
  while (true) {
    clock_s_ += arrivals_.exponential(1.0 / highest);
    if (arrivals.amplitude == 0.0) break;
    const double turns = (clock_s_ - arrivals.peak_at.in_seconds()) / arrivals.period.in_seconds();
    const double rate = 1.0 + arrivals.amplitude * math::sin_of_turns(turns + 0.25);
    if (arrivals_.uniform() * (1.0 + arrivals.amplitude) < rate) break;
  }
  return Instant::zero() + whole_microseconds(Duration::from_seconds(clock_s_));
}

Duration JobStream::draw_estimate(Duration duration) {
  double factor = 1.0;
  if (const auto* uniform = std::get_if<UniformEstimate>(&spec_.estimate)) {
    factor = estimates_.uniform(uniform->low, uniform->high);
  } else if (const auto* lognormal = std::get_if<LognormalEstimate>(&spec_.estimate)) {
    factor = lognormal->median * math::exp(lognormal->sigma * estimates_.normal());
  } else {
    return duration;
  }
  const Duration stated =
      whole_microseconds(Duration::from_seconds(duration.in_seconds() * factor));
  return std::max(stated, Duration::nanoseconds(1000));
}

std::uint32_t JobStream::draw_user() {
  if (spec_.users == 1) return 0;
  const double at = users_.uniform() * user_weight_sums_.back();
  const auto found = std::upper_bound(user_weight_sums_.begin(), user_weight_sums_.end(), at);
  const auto user = static_cast<std::uint32_t>(found - user_weight_sums_.begin());
  return std::min(user, spec_.users - 1);
}

}  // namespace orrery::sim
