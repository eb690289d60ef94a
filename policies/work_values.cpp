#include "policies/work_values.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/math.hpp"

namespace orrery::policies {

/// A kind costs what its smallest options are worth for a device, in the mean over the jobs that
/// have any there.
void WorkValues::find_costs(const ShareProblem& problem) {
  const std::size_t kinds = problem.capacity.size();
  kind_cost_.assign(kinds, 0);
  std::vector<std::int64_t> jobs(kinds, 0);
  for (std::size_t job = 0; job < problem.jobs(); ++job) {
    std::int32_t last = -1;
    for (const ShareOption& option : problem.of(job)) {
      if (option.kind == std::exchange(last, option.kind)) continue;
      kind_cost_[static_cast<std::size_t>(option.kind)] += option.value / option.size;
      ++jobs[static_cast<std::size_t>(option.kind)];
    }
  }
  devices_ = 0;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (jobs[kind] == 0) continue;
    kind_cost_[kind] /= static_cast<double>(jobs[kind]);
    devices_ += kind_cost_[kind] * static_cast<double>(problem.capacity[kind]);
  }
  cost_.clear();
  for (const ShareOption& option : problem.options)
    cost_.push_back(kind_cost_[static_cast<std::size_t>(option.kind)] * option.size);
}

/// From the price at which all devices cost what all jobs are worth, in equal ratios, to a tenth of
/// that of a single job; and 0, at which there is more than anyone wants.
void WorkValues::set_grid(double jobs) {
  const double ratio = math::exp(-math::log(10 * jobs) / (kPrices - 2));
  double price = jobs / devices_;
  for (std::size_t i = 0; i < kPrices; ++i, price *= ratio) {
    prices_[i] = i + 1 < kPrices ? price : 0;
    bounds_[i] = prices_[i] * devices_;
  }
}

// The two that follow go over all prices inside, without a branch, so that the compiler takes
// several prices at once.

/// The least weight with which the job brings every bound to `worth` at least.
double WorkValues::least_weight(const ShareProblem& problem,
                                std::uint32_t job,
                                double worth) const {
  ByPrice lacks;
  for (std::size_t i = 0; i < kPrices; ++i) lacks[i] = worth - bounds_[i];
  ByPrice least;
  least.fill(std::numeric_limits<double>::infinity());
  for (std::uint32_t o = problem.first[job]; o < problem.first[job + 1]; ++o) {
    const double cost = cost_[o];
    const double per_value = 1 / problem.options[o].value;
    for (std::size_t i = 0; i < kPrices; ++i)
      least[i] = std::min(least[i], (lacks[i] + prices_[i] * cost) * per_value);
  }
  double weight = 0;
  for (std::size_t i = 0; i < kPrices; ++i)
    if (lacks[i] > 0) weight = std::max(weight, least[i]);
  return weight;
}

/// The job gains its best option beyond the price, or nothing.
void WorkValues::add(const ShareProblem& problem, std::uint32_t job, double weight) {
  ByPrice gain{};
  for (std::uint32_t o = problem.first[job]; o < problem.first[job + 1]; ++o) {
    const double cost = cost_[o];
    const double value = weight * problem.options[o].value;
    for (std::size_t i = 0; i < kPrices; ++i)
      gain[i] = std::max(gain[i], value - prices_[i] * cost);
  }
  for (std::size_t i = 0; i < kPrices; ++i) bounds_[i] += gain[i];
}

std::span<const double> WorkValues::find(const ShareProblem& problem,
                                         std::span<const std::uint32_t> last_first) {
  weights_.assign(problem.jobs(), 0);
  find_costs(problem);
  if (!(devices_ > 0)) return weights_;
  set_grid(static_cast<double>(problem.jobs()));
  double worth = 0;
  for (const std::uint32_t job : last_first) {
    if (problem.of(job).empty()) continue;
    worth += 1;
    weights_[job] = least_weight(problem, job, worth);
    add(problem, job, weights_[job]);
  }
  return weights_;
}

}  // namespace orrery::policies
