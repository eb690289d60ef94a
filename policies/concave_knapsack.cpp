#include "policies/concave_knapsack.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/invariant.hpp"

namespace orrery::policies {
namespace {

/// Sums that differ by rounding alone are equal.
bool is_above(double value, double than) { return value > than + 1e-12 * std::fabs(than); }

/// Sums of the first gains of a size: entry n of the best n units.
std::vector<double> sums_of(const KnapsackSize& units) {
  std::vector<double> out{0};
  for (const double gain : units.gains) out.push_back(out.back() + gain);
  return out;
}

/// The fractional knapsack over some sizes, for any capacity.
class Fractional {
 public:
  struct Unit {
    double gain = 0;
    std::int64_t size = 1;
  };

  Fractional() = default;

  /// Over the sizes of `others` and one more.
  Fractional(const Fractional& others, const KnapsackSize& more) {
    std::vector<Unit> units;
    for (const double gain : more.gains) units.push_back({gain, more.size});
    units_.reserve(others.units_.size() + units.size());
    std::merge(others.units_.begin(),
               others.units_.end(),
               units.begin(),
               units.end(),
               std::back_inserter(units_),
               [](const Unit& a, const Unit& b) {
                 return a.gain * static_cast<double>(b.size) > b.gain * static_cast<double>(a.size);
               });
    values_.reserve(units_.size() + 1);
    sizes_.reserve(units_.size() + 1);
    for (const Unit& unit : units_) {
      values_.push_back(values_.back() + unit.gain);
      sizes_.push_back(sizes_.back() + unit.size);
    }
  }

  double value(std::int64_t capacity) const {
    const auto after = std::upper_bound(sizes_.begin(), sizes_.end(), capacity);
    const auto whole = static_cast<std::size_t>(after - sizes_.begin()) - 1;
    if (whole == units_.size()) return values_.back();
    const double part = static_cast<double>(capacity - sizes_[whole]);
    return values_[whole] + part * units_[whole].gain / static_cast<double>(units_[whole].size);
  }

 private:
  std::vector<Unit> units_;
  std::vector<double> values_{0};
  std::vector<std::int64_t> sizes_{0};
};

class Search {
 public:
  Search(const Knapsack& knapsack, double beat, std::int64_t& steps)
      : knapsack_(knapsack), steps_(steps), counts_(knapsack.sizes.size(), 0), best_(beat) {
    for (const KnapsackSize& units : knapsack.sizes) sums_.push_back(sums_of(units));
    rest_.resize(knapsack.sizes.size() + 1);
    for (std::size_t at = knapsack.sizes.size(); at-- > 1;)
      rest_[at] = Fractional(rest_[at + 1], knapsack.sizes[at]);
  }

  std::optional<KnapsackAnswer> run() {
    if (knapsack_.capacity >= 0) choose(0, knapsack_.capacity, knapsack_.limited_most, 0);
    return std::move(answer_);
  }

 private:
  std::int64_t most_of(std::size_t at, std::int64_t capacity, std::int64_t limited) const {
    const KnapsackSize& units = knapsack_.sizes[at];
    std::int64_t most = std::min<std::int64_t>(static_cast<std::int64_t>(units.gains.size()),
                                               capacity / units.size);
    if (at < knapsack_.limited) most = std::min(most, limited);
    return most;
  }

  /// At most what can come of taking `count` units of this size.
  double bound(std::size_t at, std::int64_t count, std::int64_t capacity) const {
    return sums_[at][static_cast<std::size_t>(count)] +
           rest_[at + 1].value(capacity - count * knapsack_.sizes[at].size);
  }

  /// The number of units with the greatest bound, which is concave in it.
  std::int64_t best_count(std::size_t at, std::int64_t most, std::int64_t capacity) const {
    std::int64_t low = 0;
    std::int64_t high = most;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (bound(at, middle + 1, capacity) > bound(at, middle, capacity)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  void choose(std::size_t at, std::int64_t capacity, std::int64_t limited, double value) {
    if (at == knapsack_.sizes.size()) return keep(capacity, value);
    const std::int64_t most = most_of(at, capacity, limited);
    if (at + 1 == knapsack_.sizes.size()) return take(at, most, capacity, limited, value);
    const std::int64_t first = best_count(at, most, capacity);
    for (std::int64_t count = first; count >= 0; --count)
      if (!try_count(at, count, capacity, limited, value)) break;
    for (std::int64_t count = first + 1; count <= most; ++count)
      if (!try_count(at, count, capacity, limited, value)) break;
  }

  /// Whether numbers further off are worth a look.
  bool try_count(std::size_t at,
                 std::int64_t count,
                 std::int64_t capacity,
                 std::int64_t limited,
                 double value) {
    if (steps_ <= 0) return false;
    if (!is_above(value + bound(at, count, capacity), best_)) return false;
    --steps_;
    take(at, count, capacity, limited, value);
    return true;
  }

  void take(std::size_t at,
            std::int64_t count,
            std::int64_t capacity,
            std::int64_t limited,
            double value) {
    counts_[at] = count;
    choose(at + 1,
           capacity - count * knapsack_.sizes[at].size,
           at < knapsack_.limited ? limited - count : limited,
           value + sums_[at][static_cast<std::size_t>(count)]);
  }

  void keep(std::int64_t capacity, double value) {
    if (knapsack_.capacity - capacity < knapsack_.least || !is_above(value, best_)) return;
    best_ = value;
    answer_ = KnapsackAnswer{counts_, value};
  }

  const Knapsack& knapsack_;
  std::int64_t& steps_;
  std::vector<std::vector<double>> sums_;
  std::vector<Fractional> rest_;  ///< Entry i, 1 or more, over the sizes from i on.
  std::vector<std::int64_t> counts_;
  double best_;
  std::optional<KnapsackAnswer> answer_;
};

}  // namespace

std::optional<KnapsackAnswer> solve(const Knapsack& knapsack, double beat, std::int64_t& steps) {
  for (std::size_t i = 0; i < knapsack.sizes.size(); ++i)
    invariant(knapsack.sizes[i].size > 0 &&
                  (i == 0 || knapsack.sizes[i].size < knapsack.sizes[i - 1].size),
              "the sizes of a knapsack fall");
  return Search(knapsack, beat, steps).run();
}

}  // namespace orrery::policies
