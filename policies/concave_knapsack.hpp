// A knapsack of many units in few sizes, solved exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace orrery::policies {

/// Units of one size. Taking so many takes those that gain most.
struct KnapsackSize {
  std::int64_t size = 1;          ///< Of one unit, above 0.
  std::span<const double> gains;  ///< One for each unit, 0 or more, never rising.
};

struct Knapsack {
  std::vector<KnapsackSize> sizes;  ///< Falling, each size once.
  std::int64_t capacity = 0;        ///< All that is taken has this size at most.
  std::int64_t least = 0;           ///< And this one at least.
  /// Of the first `limited` sizes together, units that are taken at most.
  std::size_t limited = 0;
  std::int64_t limited_most = 0;
};

struct KnapsackAnswer {
  std::vector<std::int64_t> counts;  ///< Units taken of each size.
  double value = 0;                  ///< Sum of their gains.
};

/// Solves one knapsack after the other, and keeps the memory that it took for the next one.
class KnapsackSolver {
 public:
  /// The counts of greatest value, to a part of 10^-12, where that is above `beat`. Takes from
  /// `steps` what the search took; at 0 it ends with the best that it has come to. With a step for
  /// each size, no `least` and `beat` below 0 it comes to some.
  ///
  /// Branch and bound over sizes, the largest first. A branch is bounded by its fractional
  /// knapsack, which is concave in the number of units taken, so that the search goes outwards from
  /// the best number and ends on each side with the first that cannot beat what is known. What is
  /// left after all sizes but the last decides the last one's number.
  std::optional<KnapsackAnswer> solve(const Knapsack& knapsack, double beat, std::int64_t& steps);

 private:
  struct Unit {
    double gain;
    std::int64_t size;
  };

  /// The first units of an order, added up.
  struct Prefix {
    std::int64_t size;
    double gain;
  };

  /// Memory that grows and is not cleared.
  template <class T>
  class Room {
   public:
    /// What was there is lost where it grows.
    T* of(std::size_t count) {
      if (count > size_) {
        size_ = 2 * count;
        items_ = std::make_unique_for_overwrite<T[]>(size_);
      }
      return items_.get();
    }

    T* data() { return items_.get(); }

    const T* data() const { return items_.get(); }

   private:
    std::unique_ptr<T[]> items_;
    std::size_t size_ = 0;
  };

  /// Where the order of the units of some sizes stands.
  struct Order {
    std::size_t first = 0;         ///< In `units_`.
    std::size_t count = 0;         ///< Units.
    std::size_t first_prefix = 0;  ///< In `prefixes_`, one more than units.
  };

  void add_up();
  void make_room();
  void merge(std::size_t at);
  double fractional(std::size_t at, std::int64_t capacity) const;
  double bound(std::size_t at, std::int64_t count, std::int64_t capacity) const;
  std::int64_t most_of(std::size_t at, std::int64_t capacity, std::int64_t limited) const;
  std::int64_t best_count(std::size_t at, std::int64_t most, std::int64_t capacity) const;
  void choose(std::size_t at, std::int64_t capacity, std::int64_t limited, double value);
  bool try_count(std::size_t at,
                 std::int64_t count,
                 std::int64_t capacity,
                 std::int64_t limited,
                 double value);
  void take(std::size_t at,
            std::int64_t count,
            std::int64_t capacity,
            std::int64_t limited,
            double value);
  void keep(std::int64_t capacity, double value);

  double sum_of(std::size_t at, std::int64_t count) const {
    return sums_.data()[first_sum_[at] + static_cast<std::size_t>(count)];
  }

  const Knapsack* knapsack_ = nullptr;
  std::int64_t steps_ = 0;
  double best_ = 0;
  std::optional<KnapsackAnswer> answer_;
  std::vector<std::int64_t> counts_;
  Room<double> sums_;                   ///< Of the best n units of a size, size by size.
  std::vector<std::size_t> first_sum_;  ///< Of each size; there n is 0.
  std::vector<Order> orders_;           ///< Entry i, 1 or more, over the sizes from i on.
  Room<Unit> units_;                    ///< Order after order, by gain over size.
  Room<Prefix> prefixes_;               ///< Of the same, from none to all units.
};

/// As `KnapsackSolver`, once.
std::optional<KnapsackAnswer> solve(const Knapsack& knapsack, double beat, std::int64_t& steps);

}  // namespace orrery::policies
