#include "policies/concave_knapsack.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::policies {
namespace {

/// Sums that differ by rounding alone are equal.
bool is_above(double value, double than) { return value > than + 1e-12 * std::fabs(than); }

}  // namespace

void KnapsackSolver::add_up() {
  first_sum_.clear();
  std::size_t count = 0;
  for (const KnapsackSize& units : knapsack_->sizes) {
    first_sum_.push_back(count);
    count += units.gains.size() + 1;
  }
  double* to = sums_.of(count);
  for (const KnapsackSize& units : knapsack_->sizes) {
    double sum = 0;
    *to++ = sum;
    for (const double gain : units.gains) *to++ = sum += gain;
  }
}

/// Says where the orders stand, that of the last size first.
void KnapsackSolver::make_room() {
  orders_.assign(knapsack_->sizes.size() + 1, {});
  std::size_t units = 0;
  std::size_t prefixes = 1;
  for (std::size_t at = knapsack_->sizes.size(); at-- > 1;) {
    Order& order = orders_[at];
    order = {units, orders_[at + 1].count + knapsack_->sizes[at].gains.size(), prefixes};
    units += order.count;
    prefixes += order.count + 1;
  }
  units_.of(units);
  prefixes_.of(prefixes)[0] = {0, 0};
}

/// Puts the units of the sizes from `at` on in order; those from the next one on are.
void KnapsackSolver::merge(std::size_t at) {
  const std::int64_t more_size = knapsack_->sizes[at].size;
  const auto size = static_cast<double>(more_size);
  const Order& order = orders_[at];
  const Unit* other = units_.data() + orders_[at + 1].first;
  const Unit* const others_end = other + orders_[at + 1].count;
  Unit* unit = units_.data() + order.first;
  Prefix* prefix = prefixes_.data() + order.first_prefix;
  Prefix sum{0, 0};
  *prefix = sum;
  const auto add = [&](const Unit& next) {
    *unit++ = next;
    sum.size += next.size;
    sum.gain += next.gain;
    *++prefix = sum;
  };
  for (const double gain : knapsack_->sizes[at].gains) {
    while (other != others_end && !(gain * static_cast<double>(other->size) > other->gain * size))
      add(*other++);
    add({gain, more_size});
  }
  while (other != others_end) add(*other++);
}

/// The fractional knapsack over the sizes from `at` on.
double KnapsackSolver::fractional(std::size_t at, std::int64_t capacity) const {
  const Order& order = orders_[at];
  const Prefix* const first = prefixes_.data() + order.first_prefix;
  const Prefix* const after = std::upper_bound(
      first, first + order.count + 1, capacity, [](std::int64_t size, const Prefix& prefix) {
        return size < prefix.size;
      });
  const Prefix& whole = *(after - 1);
  const auto taken = static_cast<std::size_t>(after - 1 - first);
  if (taken == order.count) return whole.gain;
  const Unit& next = units_.data()[order.first + taken];
  const double part = static_cast<double>(capacity - whole.size);
  return whole.gain + part * next.gain / static_cast<double>(next.size);
}

/// At most what can come of taking `count` units of this size.
double KnapsackSolver::bound(std::size_t at, std::int64_t count, std::int64_t capacity) const {
  return sum_of(at, count) + fractional(at + 1, capacity - count * knapsack_->sizes[at].size);
}

std::int64_t KnapsackSolver::most_of(std::size_t at,
                                     std::int64_t capacity,
                                     std::int64_t limited) const {
  const KnapsackSize& units = knapsack_->sizes[at];
  std::int64_t most =
      std::min<std::int64_t>(static_cast<std::int64_t>(units.gains.size()), capacity / units.size);
  if (at < knapsack_->limited) most = std::min(most, limited);
  return most;
}

/// The number of units with the greatest bound, which is concave in it.
std::int64_t KnapsackSolver::best_count(std::size_t at,
                                        std::int64_t most,
                                        std::int64_t capacity) const {
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

void KnapsackSolver::choose(std::size_t at,
                            std::int64_t capacity,
                            std::int64_t limited,
                            double value) {
  if (at == knapsack_->sizes.size()) return keep(capacity, value);
  const std::int64_t most = most_of(at, capacity, limited);
  if (at + 1 == knapsack_->sizes.size()) return take(at, most, capacity, limited, value);
  const std::int64_t first = best_count(at, most, capacity);
  for (std::int64_t count = first; count >= 0; --count)
    if (!try_count(at, count, capacity, limited, value)) break;
  for (std::int64_t count = first + 1; count <= most; ++count)
    if (!try_count(at, count, capacity, limited, value)) break;
}

/// Whether numbers further off are worth a look.
bool KnapsackSolver::try_count(
    std::size_t at, std::int64_t count, std::int64_t capacity, std::int64_t limited, double value) {
  if (steps_ <= 0) return false;
  if (!is_above(value + bound(at, count, capacity), best_)) return false;
  --steps_;
  take(at, count, capacity, limited, value);
  return true;
}

void KnapsackSolver::take(
    std::size_t at, std::int64_t count, std::int64_t capacity, std::int64_t limited, double value) {
  counts_[at] = count;
  choose(at + 1,
         capacity - count * knapsack_->sizes[at].size,
         at < knapsack_->limited ? limited - count : limited,
         value + sum_of(at, count));
}

void KnapsackSolver::keep(std::int64_t capacity, double value) {
  if (knapsack_->capacity - capacity < knapsack_->least || !is_above(value, best_)) return;
  best_ = value;
  answer_ = KnapsackAnswer{counts_, value};
}

std::optional<KnapsackAnswer> KnapsackSolver::solve(const Knapsack& knapsack,
                                                    double beat,
                                                    std::int64_t& steps) {
  const std::size_t sizes = knapsack.sizes.size();
  for (std::size_t i = 0; i < sizes; ++i)
    invariant(knapsack.sizes[i].size > 0 &&
                  (i == 0 || knapsack.sizes[i].size < knapsack.sizes[i - 1].size),
              "the sizes of a knapsack fall");
  knapsack_ = &knapsack;
  steps_ = steps;
  best_ = beat;
  answer_.reset();
  counts_.assign(sizes, 0);
  add_up();
  make_room();
  for (std::size_t at = sizes; at-- > 1;) merge(at);
  if (knapsack.capacity >= 0) choose(0, knapsack.capacity, knapsack.limited_most, 0);
  steps = steps_;
  return std::move(answer_);
}

std::optional<KnapsackAnswer> solve(const Knapsack& knapsack, double beat, std::int64_t& steps) {
  return KnapsackSolver().solve(knapsack, beat, steps);
}

}  // namespace orrery::policies
