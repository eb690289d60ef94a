#include "policies/gittins_table.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::policies {
namespace {

double rounded_to(double value, double scale) { return std::floor(value * scale + 0.5) / scale; }

/// 10^6 P/E with four decimals, as a whole number.
std::int64_t per_second(double probability, double expectation) {
  return static_cast<std::int64_t>(std::floor(1e10 * probability / expectation + 0.5));
}

/// The simulator's index while sample `v` is the next.
std::int64_t stepped_index(const std::vector<double>& samples, std::size_t v, double step) {
  const std::size_t n = samples.size();
  const auto above = [&](double service) {
    return static_cast<std::size_t>(std::upper_bound(samples.begin(), samples.end(), service) -
                                    samples.begin());
  };
  const double attained = samples[v] - 1;
  const std::size_t first = above(attained);
  const std::size_t last = attained + step > samples[n - 1] - 1 ? n - 1 : above(attained + step);
  double sum = step * static_cast<double>(n - last);
  for (std::size_t i = first; i < last; ++i) sum += samples[i];
  const auto alive = static_cast<double>(n - first);
  const double probability = rounded_to(static_cast<double>(last - first) / alive, 1e5);
  const double expectation = rounded_to(sum / alive, 1e5);
  return expectation > 0 ? per_second(probability, expectation) : 0;
}

/// The index as defined, at the sample before `v`.
std::int64_t best_index(const std::vector<double>& samples, std::size_t v) {
  const std::size_t n = samples.size();
  const double attained = v == 0 ? 0 : samples[v - 1];
  std::int64_t best = 0;
  double done = 0;
  for (std::size_t i = v; i < n; ++i) {
    const double more = samples[i] - attained;
    done += more;
    const double expectation = done + more * static_cast<double>(n - 1 - i);
    if (expectation > 0)
      best = std::max(best, per_second(static_cast<double>(i + 1 - v), expectation));
  }
  return best;
}

}  // namespace

GittinsTable::GittinsTable(std::vector<double> services_s, double step_s) {
  std::sort(services_s.begin(), services_s.end());
  for (std::size_t v = 0; v < services_s.size(); ++v) {
    services_us_.push_back(static_cast<std::int64_t>(std::floor(services_s[v] * 1e6 + 0.5)));
    indices_.push_back(step_s > 0 ? stepped_index(services_s, v, step_s)
                                  : best_index(services_s, v));
  }
}

std::int64_t GittinsTable::index_at(std::int64_t attained_us) const {
  const auto next = std::upper_bound(services_us_.begin(), services_us_.end(), attained_us);
  if (next == services_us_.end()) return 0;
  return indices_[static_cast<std::size_t>(next - services_us_.begin())];
}

std::int64_t GittinsTable::next_change(std::int64_t attained_us) const {
  const auto next = std::upper_bound(services_us_.begin(), services_us_.end(), attained_us);
  return next == services_us_.end() ? INT64_MAX : *next;
}

}  // namespace orrery::policies
