// Seeded random numbers, equal on every processor.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/invariant.hpp"

namespace orrery {

/// A generator (xoshiro256**, period 2^256 - 1) with the distributions that workloads and faults
/// need.
///
/// Copies continue alike. The standard library's distributions are not used because their results
/// differ between implementations.
class Random {
 public:
  /// Words of the generator; all of its state.
  using State = std::array<std::uint64_t, 4>;

  /// Any seed is good; the state is filled by splitmix64.
  explicit Random(std::uint64_t seed) : Random(stream(seed, {})) {}

  /// An independent stream for one purpose of a run ("arrivals", "faults", ...), so that drawing
  /// more for one purpose changes no other.
  static Random stream(std::uint64_t seed, std::string_view purpose);

  /// All state, for records and snapshots. The all-zero state is none and is a broken invariant.
  const State& state() const { return words_; }

  static Random from_state(const State& state);

  /// 64 uniform bits.
  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(words_[1] * 5, 7) * 9;
    const std::uint64_t shifted = words_[1] << 17;
    words_[2] ^= words_[0];
    words_[3] ^= words_[1];
    words_[1] ^= words_[2];
    words_[0] ^= words_[3];
    words_[2] ^= shifted;
    words_[3] = std::rotl(words_[3], 45);
    return result;
  }

  /// Uniform in 0 .. count - 1, without bias; `count` at least 1.
  std::uint64_t below(std::uint64_t count) {
    invariant(count > 0, "a uniform integer needs at least one value");
    // Lemire: the high word of a 128-bit product; only the few values that would bias are redrawn.
    Wide product = static_cast<Wide>(bits()) * count;
    if (static_cast<std::uint64_t>(product) < count) {
      const std::uint64_t surplus = (0 - count) % count;
      while (static_cast<std::uint64_t>(product) < surplus) {
        product = static_cast<Wide>(bits()) * count;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform in `low` .. `high`, both included; `low` at most `high`.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    invariant(low <= high, "a uniform integer needs low <= high");
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = span + 1 == 0 ? bits() : below(span + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  /// Uniform in (0, 1], for logarithms.
  double uniform_positive() { return static_cast<double>((bits() >> 11) + 1) * 0x1.0p-53; }

  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// True with the given probability (0 or less: never; 1 or more: always).
  bool chance(double probability) { return uniform() < probability; }

  /// Exponential with the given mean.
  double exponential(double mean);

  /// Standard normal (Marsaglia's polar method, one value a call, so that there is no other state).
  double normal();

  /// exp of a normal with mean `mu` and standard deviation `sigma`. Its median is exp(mu).
  double lognormal(double mu, double sigma);

  /// Weibull: scale * (-log U)^(1 / shape).
  double weibull(double shape, double scale);

  /// Pareto with density ~ x^-(shape + 1), cut to [low, high]; 0 < low <= high, shape above 0.
  double bounded_pareto(double shape, double low, double high);

  /// Index i with probability weights[i] / sum. Weights are 0 or more, at least one is above 0.
  std::size_t choose(std::span<const double> weights);

  /// A uniform random order of `items` (Fisher-Yates from the end).
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  __extension__ using Wide = unsigned __int128;

  Random() = default;

  State words_{};
};

}  // namespace orrery
