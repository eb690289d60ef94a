// Shares of devices by prices: each job takes the option that is worth most to it beyond its price.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery::policies {

/// One way in which a job may run.
struct ShareOption {
  std::int32_t kind = 0;  ///< Index of the pool that its devices come from.
  std::int32_t size = 1;  ///< Of it, at least 1.
  double value = 0;       ///< Above 0: what it is worth more than nothing.
};

/// The jobs that share, and what there is.
struct ShareProblem {
  std::vector<ShareOption> options;  ///< By job; of each by kind, and of each kind by size, rising.
  std::vector<std::uint32_t> first;  ///< Of job j: first[j] to first[j + 1], one more than jobs.
  std::vector<std::int64_t> capacity;  ///< By kind, 0 or more.

  std::size_t jobs() const { return first.size() - 1; }

  std::span<const ShareOption> of(std::size_t job) const {
    return std::span(options).subspan(first[job], first[job + 1] - first[job]);
  }
};

/// Whether what was chosen (options by job, -1: nothing) lies within the capacities.
bool fits(const ShareProblem& problem, std::span<const std::int32_t> chosen);

/// Chooses options, one for each job, as an index among its own; -1: nothing.
///
/// Maximises the sum of values within the capacities, nearly. By bisection it finds prices of the
/// kinds, one after the other, at which what all jobs would take fits (generalised Lagrange
/// multipliers: H. Everett, Operations Research 1963). Then jobs take the smallest option of the
/// kind that they would choose, those first that gain most for a device; then what they would
/// choose at these prices, as far as there is; and what is left goes step by step to whom it is
/// worth most for a device. Who could have something goes without only where all smallest options
/// do not fit. O(options x 40) for each kind, and O(steps log jobs).
class PriceShares {
 public:
  std::vector<std::int32_t> choose(const ShareProblem& problem);

  /// Of each kind, by the last `choose`: value for a device.
  std::span<const double> prices() const { return prices_; }

 private:
  struct Step {
    double worth = 0;  ///< Value for a device.
    std::uint32_t job = 0;
    std::int32_t to = 0;

    bool operator<(const Step& other) const {
      return worth != other.worth ? worth < other.worth : job > other.job;
    }
  };

  /// A job that takes devices of a kind. Options are its own, by index; -1: none of this kind.
  struct Taker {
    std::uint32_t job = 0;
    double others = 0;        ///< What its best option of another kind is worth, or nothing.
    std::int32_t first = 0;   ///< Option of this kind.
    std::int32_t most = -1;   ///< What it takes at the lower end of the price's range.
    std::int32_t least = -1;  ///< At the upper one.
    std::int32_t here = -1;   ///< Between them.
  };

  std::int32_t taken_at(const ShareProblem& problem, const Taker& taker, double price) const;
  void find_takers(const ShareProblem& problem, std::int32_t kind);
  double price_of(const ShareProblem& problem, std::int32_t kind, double most);
  void find_prices(const ShareProblem& problem);
  void take_smallest(const ShareProblem& problem);
  void take(const ShareProblem& problem, std::uint32_t job, std::int32_t option);
  bool has_room(const ShareProblem& problem, std::uint32_t job, std::int32_t option) const;
  void take_at_prices(const ShareProblem& problem);
  Step best_step(const ShareProblem& problem, std::uint32_t job) const;
  void fill(const ShareProblem& problem);

  std::vector<double> prices_;
  std::vector<std::int64_t> left_;  ///< By kind.
  std::vector<std::int32_t> chosen_;
  std::vector<Step> order_;    ///< Jobs that take something.
  std::vector<Taker> takers_;  ///< Whose share the range leaves open.
};

}  // namespace orrery::policies
