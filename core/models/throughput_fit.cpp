#include "core/models/throughput_fit.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery {

namespace {

enum Variable : std::size_t { AlphaC, BetaC, AlphaN, BetaN, AlphaR, BetaR, Gamma };

// A time of nearly zero, whose logarithm exists.
constexpr double kLeast_s = 1e-8;
constexpr double kGammaMax = 10;
// Weights of what keeps the parameters plausible.
constexpr double kGammaWeight = 1e-3;
constexpr double kGrowthWeight = 1e-2;
// Between nodes, against within one, where only the latter was measured.
constexpr double kBetweenNodes = 1.1;

/// An observation as the error function needs it.
struct Sample {
  double batch = 0;
  double beyond_two = 0;  ///< Replicas beyond two, never quite 0.
  double log_compute = 0;
  double log_step = 0;
  std::size_t alpha = AlphaC;  ///< Of synchronisation; AlphaC: there is none.
};

Sample sample_of(const ThroughputObservation& observation) {
  const auto [nodes, replicas] = observation.spread;
  Sample sample;
  sample.batch = observation.atomic_batch;
  sample.beyond_two = std::max(static_cast<double>(replicas - 2), kLeast_s);
  sample.log_compute = math::log(observation.compute_s);
  sample.log_step = math::log(observation.step_s);
  if (nodes > 1) {
    sample.alpha = AlphaN;
  } else if (replicas > 1) {
    sample.alpha = AlphaR;
  }
  return sample;
}

/// Root of a mean of squares, and the gradient of it.
class RootMeanSquare {
 public:
  void add(double error, const FitVector& gradient) {
    squares_ += error * error;
    for (std::size_t i = 0; i < kFitVariables; ++i) gradient_[i] += error * gradient[i];
  }

  double value(double count, FitVector& gradient) const {
    const double root = math::sqrt(squares_ / count);
    if (root > 0)
      for (std::size_t i = 0; i < kFitVariables; ++i) gradient[i] += gradient_[i] / (count * root);
    return root;
  }

 private:
  double squares_ = 0;
  FitVector gradient_{};
};

class FitError final : public FitFunction {
 public:
  explicit FitError(std::span<const ThroughputObservation> observations) {
    for (const ThroughputObservation& each : observations) samples_.push_back(sample_of(each));
  }

  double at(const FitVector& x, FitVector& gradient) const override {
    RootMeanSquare compute;
    RootMeanSquare step;
    for (const Sample& sample : samples_) add(sample, x, compute, step);
    gradient = {};
    const auto count = static_cast<double>(samples_.size());
    double sum = compute.value(count, gradient) + step.value(count, gradient);
    const double overlap = x[Gamma] - 1;
    sum += kGammaWeight * overlap * overlap;
    gradient[Gamma] += 2 * kGammaWeight * overlap;
    return sum + growth(x, AlphaN, gradient) + growth(x, AlphaR, gradient);
  }

 private:
  static double growth(const FitVector& x, std::size_t alpha, FitVector& gradient) {
    const double ratio = x[alpha + 1] / x[alpha];
    gradient[alpha + 1] += 2 * kGrowthWeight * ratio / x[alpha];
    gradient[alpha] -= 2 * kGrowthWeight * ratio * ratio / x[alpha];
    return kGrowthWeight * ratio * ratio;
  }

  static void add(const Sample& sample,
                  const FitVector& x,
                  RootMeanSquare& compute,
                  RootMeanSquare& step) {
    const double gamma = x[Gamma];
    const double grad_s = x[AlphaC] + x[BetaC] * sample.batch;
    const double log_grad = math::log(grad_s);
    FitVector slope{};
    slope[AlphaC] = 1 / grad_s;
    slope[BetaC] = sample.batch / grad_s;
    compute.add(log_grad - sample.log_compute, slope);

    const bool syncs = sample.alpha != AlphaC;
    const double sync_s = syncs ? x[sample.alpha] + x[sample.alpha + 1] * sample.beyond_two
                                : kLeast_s + kLeast_s * sample.beyond_two;
    const double log_sync = math::log(sync_s);
    // log(grad^gamma + sync^gamma) / gamma by the larger one, which no power overflows.
    const double larger = std::max(log_grad, log_sync);
    const double smaller_part = math::exp(gamma * (std::min(log_grad, log_sync) - larger));
    const double sum = 1 + smaller_part;
    const double log_step = larger + math::log(sum) / gamma;
    const double share = log_grad >= log_sync ? 1 / sum : smaller_part / sum;  // Of grad.
    slope[AlphaC] *= share;
    slope[BetaC] *= share;
    if (syncs) {
      slope[sample.alpha] = (1 - share) / sync_s;
      slope[sample.alpha + 1] = sample.beyond_two * (1 - share) / sync_s;
    }
    slope[Gamma] = (share * log_grad + (1 - share) * log_sync - log_step) / gamma;
    step.add(log_step - sample.log_step, slope);
  }

  std::vector<Sample> samples_;
};

/// What the observations tell apart.
struct Seen {
  bool several_batches = false;
  bool several_nodes = false;
  bool several_on_one = false;
  bool more_than_two = false;
  double compute_mean_s = 0;
};

Seen seen_in(std::span<const ThroughputObservation> observations) {
  Seen seen;
  for (const ThroughputObservation& each : observations) {
    const auto [nodes, replicas] = each.spread;
    seen.several_batches |= each.atomic_batch != observations.front().atomic_batch;
    seen.several_nodes |= nodes > 1;
    seen.several_on_one |= nodes == 1 && replicas > 1;
    seen.more_than_two |= replicas > 2;
    seen.compute_mean_s += each.compute_s;
  }
  seen.compute_mean_s /= static_cast<double>(observations.size());
  return seen;
}

void fix(FitBounds& bounds, std::size_t variable, double value) {
  bounds.low[variable] = bounds.high[variable] = value;
}

FitBounds bounds_for(const Seen& seen) {
  FitBounds bounds;
  bounds.low.fill(kLeast_s);
  bounds.high.fill(std::numeric_limits<double>::infinity());
  bounds.low[Gamma] = 1;
  bounds.high[Gamma] = kGammaMax;
  if (!seen.several_batches) fix(bounds, AlphaC, seen.compute_mean_s / 2);
  if (!seen.several_nodes) fix(bounds, AlphaN, kLeast_s);
  if (!seen.several_nodes || !seen.more_than_two) fix(bounds, BetaN, kLeast_s);
  if (!seen.several_on_one) fix(bounds, AlphaR, kLeast_s);
  if (!seen.several_on_one || !seen.more_than_two) fix(bounds, BetaR, kLeast_s);
  return bounds;
}

constexpr FitVector kStart = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001};

/// The minimum from the usual start; and, where it has a pair of synchronisation that was measured
/// at next to nothing, from there with that pair as at the start: with gamma above 1 the error
/// hardly changes near 0, and holds a search that strayed there.
FitVector fitted_from(const FitError& error, const FitBounds& bounds, const FitLimits& limits) {
  constexpr double stray_s = 1e-3;
  FitMinimum best = minimum_within(error, bounds, kStart, limits);
  for (const std::size_t alpha : {AlphaN, AlphaR}) {
    if (bounds.low[alpha] == bounds.high[alpha] || best.x[alpha] > stray_s) continue;
    FitVector start = best.x;
    start[alpha] = kStart[alpha];
    start[alpha + 1] = kStart[alpha + 1];
    const FitMinimum other = minimum_within(error, bounds, start, limits);
    if (other.value < best.value) best = other;
  }
  return best.x;
}

}  // namespace

ThroughputParameters fit_throughput(std::span<const ThroughputObservation> observations,
                                    const FitLimits& limits) {
  invariant(!observations.empty(), "a throughput model is fitted to an observation at least");
  const Seen seen = seen_in(observations);
  const FitVector x = fitted_from(FitError(observations), bounds_for(seen), limits);
  ThroughputParameters fitted{.alpha_c = x[AlphaC],
                              .beta_c = x[BetaC],
                              .alpha_n = x[AlphaN],
                              .beta_n = x[BetaN],
                              .alpha_r = x[AlphaR],
                              .beta_r = x[BetaR],
                              .gamma = x[Gamma]};
  if (!seen.several_nodes) {
    fitted.alpha_n = std::max(fitted.alpha_n, kBetweenNodes * fitted.alpha_r);
    fitted.beta_n = std::max(fitted.beta_n, kBetweenNodes * fitted.beta_r);
  }
  return fitted;
}

}  // namespace orrery
