// Linear and mixed-integer programs, and their solver.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"

namespace orrery::solver {

/// A bound that does not bind.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Sense : std::uint8_t { Minimise, Maximise };

/// One variable. A bound of -kInfinity or kInfinity is none; `lower` <= `upper`.
struct Column {
  double lower = 0;
  double upper = kInfinity;
  double objective = 0;  ///< Coefficient in the objective; finite.
  bool integer = false;  ///< Takes whole values only.
};

/// One coefficient of a row, finite.
struct Entry {
  std::int32_t column = 0;
  double value = 0;
};

/// Minimise or maximise the sum of objective times value, subject to
///
///     lower <= value <= upper                       for each column
///     lower <= sum over entries of value <= upper   for each row
///
/// Columns and rows have the numbers 0, 1, ... in the order in which they are added.
class Program {
 public:
  explicit Program(Sense sense) : sense_(sense) {}

  /// Returns the number of the new column.
  std::int32_t add_column(const Column& column);

  /// Returns the number of the new row. Entries name columns that were added before, each at most
  /// once; one with value 0 is left out.
  std::int32_t add_row(double lower, double upper, std::span<const Entry> entries);

  /// Replaces the bounds of a row, for programs that are solved again with others.
  void set_row(std::int32_t row, double lower, double upper);

  /// Replaces a column; its entries stay.
  void set_column(std::int32_t column, const Column& with);

  Sense sense() const { return sense_; }

  std::span<const Column> columns() const { return columns_; }

  std::int32_t rows() const { return static_cast<std::int32_t>(lower_.size()); }

  double row_lower(std::int32_t row) const { return lower_[static_cast<std::size_t>(row)]; }

  double row_upper(std::int32_t row) const { return upper_[static_cast<std::size_t>(row)]; }

  /// The entries of a row, in the order in which they were given.
  std::span<const Entry> row(std::int32_t row) const;

  bool has_integers() const;

 private:
  Sense sense_;
  std::vector<Column> columns_;
  std::vector<double> lower_;
  std::vector<double> upper_;
  std::vector<std::size_t> ends_;  // Of each row's entries.
  std::vector<Entry> entries_;
};

/// When to stop. There is no limit of time: equal programs give equal answers on every machine.
struct Limits {
  std::int32_t iterations = 10'000'000;  ///< Of the simplex method in one linear program.
  std::int32_t nodes = 10'000;           ///< Of branch and bound; 0: the root alone.
  double relative_gap = 1e-6;  ///< Of the best value to the bound, at which it is optimal.
};

enum class Status : std::uint8_t {
  Optimal,     ///< Values are the best; of a program with integers, to the relative gap.
  Infeasible,  ///< No values keep all bounds.
  Unbounded,   ///< The objective has no best value.
  Limit,       ///< Stopped by a limit, or by numbers that the method cannot handle.
};

struct Solution {
  Status status = Status::Limit;
  /// One for each column, within its bounds, whole where it is integer. Empty where there is none:
  /// Infeasible, Unbounded, and Limit before a first one that keeps all bounds was found.
  std::vector<double> values;
  double objective = 0;  ///< Of `values`.
  /// How much the objective changes with one more of each row's binding bound; 0 where none binds.
  /// Empty without values and of programs with integers.
  std::vector<double> duals;

  bool has_values() const { return !values.empty(); }
};

/// Whether this program was built with the solver's library.
bool is_available();

/// The library and its version, for example "CLP 1.17.6, CBC 2.10.8"; empty where there is none.
std::string_view library();

/// Solves on the calling thread, and prints nothing. A program with several best answers has the
/// same one each time. Feasible is what keeps bounds to 1e-7. Must not be called where the library
/// is not available.
///
/// Linear programs: dual simplex. Programs with integers: branch and cut after preprocessing.
Solution solve(const Program& program, const Limits& limits = {});

}  // namespace orrery::solver

namespace orrery {

template <>
struct EnumNames<solver::Status> {
  static constexpr std::array kNames{"optimal", "infeasible", "unbounded", "limit"};
};

}  // namespace orrery
