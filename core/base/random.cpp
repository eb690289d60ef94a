#include "core/base/random.hpp"

#include "core/base/digest.hpp"
#include "core/base/math.hpp"
#include "core/base/mixed_bits.hpp"

namespace orrery {
namespace {

/// splitmix64: a counter through a mixing function.
std::uint64_t splitmix64(std::uint64_t& counter) {
  const std::uint64_t mixed = mixed_bits(counter);
  counter += 0x9e3779b97f4a7c15;
  return mixed;
}

}  // namespace

Random Random::stream(std::uint64_t seed, std::string_view purpose) {
  Digester digester;
  digester.update(seed);
  digester.update(purpose);
  std::uint64_t counter = purpose.empty() ? seed : digester.finish().high;
  Random random;
  for (std::uint64_t& word : random.words_) word = splitmix64(counter);
  return random;
}

Random Random::from_state(const State& state) {
  invariant(state != State{}, "a generator state is never all zero");
  Random random;
  random.words_ = state;
  return random;
}

double Random::exponential(double mean) { return -mean * math::log(uniform_positive()); }

double Random::normal() {
  while (true) {
    const double x = uniform(-1.0, 1.0);
    const double y = uniform(-1.0, 1.0);
    const double square = x * x + y * y;
    if (square >= 1.0 || square == 0.0) continue;
    return x * math::sqrt(-2.0 * math::log(square) / square);
  }
}

double Random::lognormal(double mu, double sigma) { return math::exp(mu + sigma * normal()); }

double Random::weibull(double shape, double scale) {
  return scale * math::pow(-math::log(uniform_positive()), 1.0 / shape);
}

double Random::bounded_pareto(double shape, double low, double high) {
  invariant(shape > 0.0 && low > 0.0 && low <= high,
            "a bounded Pareto needs shape > 0 and 0 < low <= high");
  // Inverse of F(x) = (1 - (low / x)^shape) / (1 - (low / high)^shape).
  const double covered = -math::expm1(shape * math::log(low / high));
  const double value = low * math::pow(1.0 - uniform() * covered, -1.0 / shape);
  return value < high ? value : high;
}

std::size_t Random::choose(std::span<const double> weights) {
  double total = 0.0;
  for (const double weight : weights) {
    invariant(weight >= 0.0, "a weight is 0 or more");
    total += weight;
  }
  invariant(total > 0.0, "a choice needs a weight above 0");
  double left = uniform() * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0.0) continue;
    if (left < weights[i]) return i;
    left -= weights[i];
    last = i;
  }
  return last;  // Reached only when the subtractions lost the last bit.
}

}  // namespace orrery
