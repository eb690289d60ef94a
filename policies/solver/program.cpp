#include "policies/solver/program.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/invariant.hpp"

namespace orrery::solver {
namespace {

bool is_range(double lower, double upper) {
  return lower <= upper && lower < kInfinity && upper > -kInfinity;
}

}  // namespace

std::int32_t Program::add_column(const Column& column) {
  invariant(is_range(column.lower, column.upper), "the bounds of a column are a range");
  invariant(std::isfinite(column.objective), "the coefficients of a program are finite");
  columns_.push_back(column);
  return static_cast<std::int32_t>(columns_.size()) - 1;
}

std::int32_t Program::add_row(double lower, double upper, std::span<const Entry> entries) {
  invariant(is_range(lower, upper), "the bounds of a row are a range");
  for (const Entry& entry : entries) {
    invariant(entry.column >= 0 && static_cast<std::size_t>(entry.column) < columns_.size(),
              "a row names columns of its program");
    invariant(std::isfinite(entry.value), "the coefficients of a program are finite");
    if (entry.value != 0) entries_.push_back(entry);
  }
  lower_.push_back(lower);
  upper_.push_back(upper);
  ends_.push_back(entries_.size());
  return rows() - 1;
}

void Program::set_row(std::int32_t row, double lower, double upper) {
  invariant(row >= 0 && row < rows(), "a row of this program is set");
  invariant(is_range(lower, upper), "the bounds of a row are a range");
  lower_[static_cast<std::size_t>(row)] = lower;
  upper_[static_cast<std::size_t>(row)] = upper;
}

void Program::set_column(std::int32_t column, const Column& with) {
  invariant(column >= 0 && static_cast<std::size_t>(column) < columns_.size(),
            "a column of this program is set");
  invariant(is_range(with.lower, with.upper), "the bounds of a column are a range");
  invariant(std::isfinite(with.objective), "the coefficients of a program are finite");
  columns_[static_cast<std::size_t>(column)] = with;
}

std::span<const Entry> Program::row(std::int32_t row) const {
  const auto at = static_cast<std::size_t>(row);
  const std::size_t first = at == 0 ? 0 : ends_[at - 1];
  return std::span(entries_).subspan(first, ends_[at] - first);
}

bool Program::has_integers() const {
  return std::any_of(
      columns_.begin(), columns_.end(), [](const Column& column) { return column.integer; });
}

}  // namespace orrery::solver
