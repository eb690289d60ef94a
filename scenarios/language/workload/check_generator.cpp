#include <cmath>
#include <utility>

#include "scenarios/language/spec/generator_spec.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::int64_t kElasticFactorMax = 1'000;  // Times kGpusMax it still fits an int.
constexpr std::int64_t kUsersMax = 1'000'000;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

// Clang 14, which tidy and the fuzz targets use, does not deduce an aggregate's arguments.
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

bool positive(double x) { return std::isfinite(x) && x > 0.0; }

std::string seconds(Duration d) { return std::to_string(d.in_seconds()) + " s"; }

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

  void need_positive(Duration d, const std::string& field) {
    need(d > Duration::zero(),
         field,
         "the duration is " + seconds(d) + ", but must be above 0; give for example 20min");
  }

  void need_positive(double x, const std::string& field) {
    need(positive(x),
         field,
         "the number is " + std::to_string(x) +
             ", but must be above 0 and finite; give for "
             "example 1.5");
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
                        : "neither jobs_per_hour nor load is above 0, but one is needed; give for "
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
      std::string part = subject;
      part += "." + field + ".duration";
      findings.add(check(*gpu_class.duration, part));
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

}  // namespace

Errors check(const DurationDistribution& distribution, const std::string& subject) {
  Findings findings(subject);
  findings.need(!distribution.parts.empty(),
                "parts",
                "there is none, but at least one distribution is needed; add one");
  findings.need_positive(distribution.shortest, "shortest");
  findings.need(distribution.shortest <= distribution.longest,
                "longest",
                "it is " + seconds(distribution.longest) + ", but shortest is " +
                    seconds(distribution.shortest) + "; raise longest or lower shortest");
  for (const auto& part : distribution.parts) {
    findings.need_positive(part.weight, "weight");
    std::visit(
        Overloaded{[&](const FixedDuration& d) { findings.need_positive(d.value, "value"); },
                   [&](const ExponentialDuration& d) { findings.need_positive(d.mean, "mean"); },
                   [&](const LognormalDuration& d) {
                     findings.need_positive(d.median, "median");
                     findings.need(std::isfinite(d.sigma) && d.sigma >= 0.0,
                                   "sigma",
                                   "sigma is " + std::to_string(d.sigma) +
                                       ", but must be 0 or more; give for example 1.5");
                   },
                   [&](const WeibullDuration& d) {
                     findings.need_positive(d.shape, "shape");
                     findings.need_positive(d.scale, "scale");
                   },
                   [&](const BoundedParetoDuration& d) {
                     findings.need_positive(d.shape, "shape");
                     findings.need_positive(d.low, "low");
                     findings.need(d.low <= d.high,
                                   "high",
                                   "high is " + seconds(d.high) + ", but low is " + seconds(d.low) +
                                       "; raise high or lower low");
                   }},
        part.shape);
  }
  return findings.take();
}

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

}  // namespace orrery::scenarios
