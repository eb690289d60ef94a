// Comma-separated files with a fixed header: fields by column, errors by line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::sim {

/// The rows of one file; values point into `text`, so a table is not copied.
struct Table {
  struct Row {
    int line = 0;  ///< From 1; the header is line 1.
    std::vector<std::string_view> fields;
  };

  std::string file;  ///< As errors name it.
  std::string text;
  std::vector<Row> rows;

  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
};

/// Reads `file`, as `plain_lines` has it, into `table`. The first line must name exactly `columns`,
/// in their order, but for the last `optional` ones, which may all be missing; every other line
/// must hold as many fields. Carriage returns and empty lines are dropped. All broken lines are
/// reported together.
Errors read_table(const std::filesystem::path& file,
                  const std::vector<std::string_view>& columns,
                  Table& table,
                  std::size_t optional = 0);

/// The errors of one or more tables in the order of their files' names and lines.
Errors by_line(Errors errors);

/// Takes numbers out of one row and collects what is wrong with them.
class RowReader {
 public:
  RowReader(const Table& table,
            const Table::Row& row,
            const std::vector<std::string_view>& columns,
            Errors& errors)
      : table_(&table), row_(&row), columns_(&columns), errors_(&errors) {}

  std::string_view text(std::size_t column) const { return row_->fields[column]; }

  /// A finite number of at least `least`; `least` after an error.
  double number(std::size_t column, double least);

  /// A whole number of at least `least`; `least` after an error.
  int whole(std::size_t column, int least);

  /// Records that `column` holds something else than `needed`.
  void reject(std::size_t column, const std::string& needed);

 private:
  const Table* table_;
  const Table::Row* row_;
  const std::vector<std::string_view>* columns_;
  Errors* errors_;
};

}  // namespace orrery::sim
