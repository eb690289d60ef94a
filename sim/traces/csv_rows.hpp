// Rows of a comma-separated file, by column.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// A column that a reader knows.
struct CsvColumn {
  std::string_view name;
  bool needed = true;  ///< Otherwise its field is empty where the file has no such column.
};

/// The fields of `line` between commas, without blanks and double quotes around them. Quoted fields
/// that hold a comma or a quote are not read: false where there is one, and the fields are of no
/// use.
bool split_csv(std::string_view line, std::vector<std::string_view>& fields);

/// The error of a line of which `split_csv` was false.
void refuse_quotes(std::size_t line, std::string_view row, TraceErrors& errors);

/// Walks the rows of a file. Blank lines are passed over; a row with another number of fields than
/// there are columns, or with quotes that `split_csv` does not read, is an error, and passed over
/// too.
class CsvRows {
 public:
  /// All three outlive the rows. With `header`, the first line names the columns, in any order and
  /// with others between them; a needed one that is missing is an error, and then there are no
  /// rows. Without, a row has exactly `columns`.
  CsvRows(std::string_view text,
          std::span<const CsvColumn> columns,
          bool header,
          TraceErrors& errors);

  /// Goes to the next row; false at the end.
  bool next();

  /// Line of the row, from 1.
  std::size_t line() const { return line_; }

  /// The row as written.
  std::string_view row() const { return row_; }

  /// Rows met so far, the broken ones included.
  std::size_t rows() const { return rows_; }

  /// The field of columns[column], without spaces around it; empty where there is no such column.
  std::string_view field(std::size_t column) const;

  std::string_view name(std::size_t column) const { return columns_[column].name; }

  bool has(std::size_t column) const { return place_[column] != kAbsent; }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  void read_header();

  std::string_view rest_;
  std::span<const CsvColumn> columns_;
  TraceErrors& errors_;
  std::vector<std::size_t> place_;  // Field of each known column, or kAbsent.
  std::size_t width_ = 0;
  std::size_t line_ = 0;
  std::size_t rows_ = 0;
  std::string_view row_;
  std::vector<std::string_view> fields_;
};

}  // namespace orrery::sim
