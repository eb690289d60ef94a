// Aligned tables for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// Which values of a column are the better ones.
enum class Better { Neither, Lower, Higher };

/// A column: its title with the unit, and how to judge it.
struct Column {
  std::string title;
  Better better = Better::Neither;
  bool left = false;  ///< Text; numbers stand on the right.
  int spare = 0;      ///< Left out where the table is too wide, the highest first; 0: never.
};

/// One cell: what is shown, and the value that is judged.
struct Cell {
  std::string text;
  double value = 0;
};

/// Rows under titles. Equal columns, two spaces apart, no trailing spaces.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void add_row(std::vector<Cell> row);

  /// With `colour`, the best value of each judged column is bold green where the rows differ.
  /// Spare columns are left out until a line takes at most `width_max` places.
  std::string text(bool colour, std::size_t width_max = SIZE_MAX) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::size_t> shown(const std::vector<std::size_t>& widths,
                                 std::size_t width_max) const;
  bool is_best(std::size_t row, std::size_t column) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// A number with `decimals` digits after the point and commas between thousands: "12,345.6".
std::string with_commas(double value, int decimals);

/// A time in words of its size: "42 s", "3 min 20 s", "5 h 12 min", "12 d 3 h".
std::string time_in_words(double seconds);

}  // namespace orrery::cli
