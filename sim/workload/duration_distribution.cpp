#include "sim/workload/duration_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/math.hpp"

namespace orrery::sim {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

// Clang 14, which tidy and the fuzz targets use, does not deduce an aggregate's arguments.
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

bool positive(double x) { return std::isfinite(x) && x > 0.0; }

std::string seconds(Duration d) { return std::to_string(d.in_seconds()) + " s"; }

/// Collects errors about one subject.
class Findings {
 public:
  explicit Findings(std::string subject) : subject_(std::move(subject)) {}

  void need(bool condition, const std::string& field, const std::string& message) {
    if (!condition) errors_.push_back({.subject = subject_ + "." + field, .message = message});
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

  Errors take() { return std::move(errors_); }

 private:
  std::string subject_;
  Errors errors_;
};

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

DurationSampler::DurationSampler(DurationDistribution distribution)
    : distribution_(std::move(distribution)) {
  for (const auto& part : distribution_.parts) weights_.push_back(part.weight);
}

Duration DurationSampler::draw(Random& random) const {
  const std::size_t index = weights_.size() == 1 ? 0 : random.choose(weights_);
  const double drawn_s = std::visit(
      Overloaded{
          [](const FixedDuration& d) { return d.value.in_seconds(); },
          [&](const ExponentialDuration& d) { return random.exponential(d.mean.in_seconds()); },
          [&](const LognormalDuration& d) {
            return d.median.in_seconds() * math::exp(d.sigma * random.normal());
          },
          [&](const WeibullDuration& d) { return random.weibull(d.shape, d.scale.in_seconds()); },
          [&](const BoundedParetoDuration& d) {
            return random.bounded_pareto(d.shape, d.low.in_seconds(), d.high.in_seconds());
          }},
      distribution_.parts[index].shape);
  const double bounded_s =
      std::clamp(drawn_s, distribution_.shortest.in_seconds(), distribution_.longest.in_seconds());
  return Duration::nanoseconds(Duration::from_seconds(bounded_s).ns / 1000 * 1000);
}

}  // namespace orrery::sim
