#include "sim/workload/duration_distribution.hpp"

#include <algorithm>
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

}  // namespace

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
