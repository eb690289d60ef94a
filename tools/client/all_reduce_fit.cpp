#include "tools/client/all_reduce_fit.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::cli {
namespace {

double steps_of(std::int32_t ranks) { return 2.0 * (ranks - 1); }

/// What a fit to these says; latency is at least 0.
std::optional<AllReduceFit> fitted(const std::vector<AllReduceSample>& samples) {
  // t = a x + b y with x = steps, y = steps * bytes / ranks; every equation divided by its t.
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double x1 = 0;
  double y1 = 0;
  for (const AllReduceSample& sample : samples) {
    if (sample.ranks < 2 || sample.seconds <= 0) continue;
    const double x = steps_of(sample.ranks) / sample.seconds;
    const double y = x * sample.bytes / sample.ranks;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x1 += x;
    y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  if (determinant <= 1e-12 * xx * yy) return std::nullopt;
  double latency_s = (x1 * yy - y1 * xy) / determinant;
  double per_byte = (y1 * xx - x1 * xy) / determinant;
  if (latency_s < 0) {
    latency_s = 0;
    per_byte = y1 / yy;
  }
  if (per_byte <= 0) return std::nullopt;
  return AllReduceFit{latency_s, 1 / per_byte, {}};
}

}  // namespace

double AllReduceFit::seconds(std::int32_t ranks, double bytes) const {
  return steps_of(ranks) * (latency_s + bytes / ranks / bandwidth);
}

std::optional<AllReduceFit> fit_all_reduce(const std::vector<AllReduceSample>& samples) {
  auto out = fitted(samples);
  if (!out) return out;
  std::vector<AllReduceSample> kept;
  std::vector<AllReduceSample> held_out;
  for (std::size_t i = 0; i < samples.size(); ++i)
    (i % 2 == 0 ? kept : held_out).push_back(samples[i]);
  const auto part = fitted(kept);
  if (!part || held_out.empty()) return out;
  std::vector<double> errors;
  for (const AllReduceSample& sample : held_out)
    errors.push_back(std::abs(part->seconds(sample.ranks, sample.bytes) - sample.seconds) /
                     sample.seconds);
  std::ranges::sort(errors);
  out->held_out_error = errors[errors.size() / 2];
  return out;
}

}  // namespace orrery::cli
