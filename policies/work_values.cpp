#include "policies/work_values.hpp"

#include <algorithm>
#include <cstddef>
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
  prices_.clear();
  bounds_.clear();
  for (double price = jobs / devices_; prices_.size() + 1 < kPrices; price *= ratio)
    prices_.push_back(price);
  prices_.push_back(0);
  for (const double price : prices_) bounds_.push_back(price * devices_);
}

/// The least weight with which the job brings every bound to `worth` at least.
double WorkValues::least_weight(const ShareProblem& problem,
                                std::uint32_t job,
                                double worth) const {
  double weight = 0;
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    const double lacks = worth - bounds_[i];
    if (lacks <= 0) continue;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t o = problem.first[job]; o < problem.first[job + 1]; ++o)
      least = std::min(least, (lacks + prices_[i] * cost_[o]) / problem.options[o].value);
    weight = std::max(weight, least);
  }
  return weight;
}

/// The job gains its best option beyond the price, or nothing.
void WorkValues::add(const ShareProblem& problem, std::uint32_t job, double weight) {
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    double gain = 0;
    for (std::uint32_t o = problem.first[job]; o < problem.first[job + 1]; ++o)
      gain = std::max(gain, weight * problem.options[o].value - prices_[i] * cost_[o]);
    bounds_[i] += gain;
  }
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
