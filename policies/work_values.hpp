// What a unit of each job's work is worth, when the sum of completion times shall be least.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/price_shares.hpp"

namespace orrery::policies {

/// Weights of speeds. Who shares devices out so that the weighted sum of speeds is greatest, again
/// after each end, ends all jobs with the least sum of completion times.
///
/// Of n jobs with so much left each, and a speed that depends on the devices only, the sum of
/// completion times is least where devices are shared out at all times by the greatest sum of
/// `weight x speed`, with weights that do not change as long as a job lives (the costates of
/// Pontryagin's principle), and that sum is the number of jobs that are left, since its negative is
/// what a second costs them all. So the weights follow from the order of ends alone, from the last
/// job on: that of job k is the one with which jobs 1 to k are worth k on all devices. For speeds
/// n^p these are the shares of heSRPT (Berg, Vesilo, Harchol-Balter, "heSRPT", 2020); here any
/// speeds have theirs.
///
/// The greatest sum is taken from its dual: the least, over prices of devices, of what all jobs
/// gain beyond the price and what all devices cost. Prices are looked at on a grid, and kinds of
/// devices cost in proportion to what a job does on one of them in the mean. For speeds that are
/// not concave it is that of their concave hull.
class WorkValues {
 public:
  /// Weights by job, 0 for one without options. The `value` of an option is its speed, in the same
  /// unit for all options of a job; `last_first` are the jobs in order of their ends, the last one
  /// first. Valid until the next call. O(options x grid).
  std::span<const double> find(const ShareProblem& problem,
                               std::span<const std::uint32_t> last_first);

 private:
  void find_costs(const ShareProblem& problem);
  void set_grid(double jobs);
  double least_weight(const ShareProblem& problem, std::uint32_t job, double worth) const;
  void add(const ShareProblem& problem, std::uint32_t job, double weight);

  static constexpr std::size_t kPrices = 16;
  using ByPrice = std::array<double, kPrices>;

  double devices_ = 0;             ///< All, in those of cost 1.
  std::vector<double> kind_cost_;  ///< Of a device, by kind.
  std::vector<double> cost_;       ///< Of each option.
  ByPrice prices_{};               ///< Falling; the last one is 0.
  ByPrice bounds_{};               ///< What the jobs so far are worth at most.
  std::vector<double> weights_;
};

}  // namespace orrery::policies
