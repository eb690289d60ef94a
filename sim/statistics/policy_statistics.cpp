#include "sim/statistics/policy_statistics.hpp"

#include <algorithm>
#include <utility>

#include "sim/statistics/run_figures.hpp"

namespace orrery::sim {
namespace {

/// The runs of one policy, in their order.
using PolicyRuns = std::vector<const Summary*>;

std::vector<PolicyRuns> by_policy(std::span<const Summary> results) {
  std::vector<PolicyRuns> out;
  for (const Summary& summary : results) {
    const auto known = std::ranges::find_if(
        out, [&](const PolicyRuns& runs) { return runs.front()->policy == summary.policy; });
    if (known == out.end())
      out.push_back({&summary});
    else
      known->push_back(&summary);
  }
  return out;
}

std::vector<double> values_of(const PolicyRuns& runs, const RunFigure& figure) {
  std::vector<double> values;
  for (const Summary* run : runs) values.push_back(figure.of(*run));
  return values;
}

bool have_equal_seeds(const PolicyRuns& a, const PolicyRuns& b) {
  return std::ranges::equal(a, b, {}, &Summary::seed, &Summary::seed);
}

}  // namespace

const SeedEstimate& PolicyStatistics::of(std::string_view key) const {
  const auto all = run_figures();
  return figures[static_cast<std::size_t>(&run_figure(key) - all.data())];
}

std::vector<PolicyStatistics> statistics_of(std::span<const Summary> results) {
  std::vector<PolicyStatistics> out;
  for (const PolicyRuns& runs : by_policy(results)) {
    PolicyStatistics one{runs.front()->policy, runs.size(), {}};
    for (const RunFigure& figure : run_figures())
      one.figures.push_back(estimate_over_seeds(values_of(runs, figure)));
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<PolicyDifference> differences_of(std::span<const Summary> results) {
  const std::vector<PolicyRuns> policies = by_policy(results);
  if (policies.empty() || policies.front().size() < 2) return {};
  for (const PolicyRuns& runs : policies)
    if (!have_equal_seeds(policies.front(), runs)) return {};
  std::vector<PolicyDifference> out;
  for (std::size_t against = 0; against < policies.size(); ++against)
    for (std::size_t policy = against + 1; policy < policies.size(); ++policy) {
      PolicyDifference pair{
          policies[policy].front()->policy, policies[against].front()->policy, {}};
      for (const RunFigure& figure : run_figures())
        pair.figures.push_back(paired_difference(values_of(policies[policy], figure),
                                                 values_of(policies[against], figure)));
      out.push_back(std::move(pair));
    }
  for (std::size_t figure = 0; figure < run_figures().size(); ++figure) {
    std::vector<double> p;
    for (const PolicyDifference& pair : out) p.push_back(pair.figures[figure].p);
    const std::vector<double> adjusted = holm(p);
    for (std::size_t pair = 0; pair < out.size(); ++pair)
      out[pair].figures[figure].p_holm = adjusted[pair];
  }
  return out;
}

}  // namespace orrery::sim
