#include "sim/traces/csv_rows.hpp"

#include <algorithm>
#include <string>

#include "sim/traces/fields.hpp"

namespace orrery::sim {

bool split_csv(std::string_view line, std::vector<std::string_view>& fields) {
  split(line, ',', fields);
  for (std::string_view& field : fields) {
    field = trimmed(field);
    if (!field.starts_with('"')) continue;
    if (field.size() < 2 || field.find('"', 1) != field.size() - 1) return false;
    field = field.substr(1, field.size() - 2);
  }
  return true;
}

void refuse_quotes(std::size_t line, std::string_view row, TraceErrors& errors) {
  errors.add(line,
             "row",
             "found " + quote_input(row) +
                 ", in which double quotes stand around a comma or a quote, but such fields are "
                 "not read; write the field without commas and quotes");
}

CsvRows::CsvRows(std::string_view text,
                 std::span<const CsvColumn> columns,
                 bool header,
                 TraceErrors& errors)
    : rest_(text), columns_(columns), errors_(errors) {
  if (header) {
    read_header();
    return;
  }
  width_ = columns.size();
  for (std::size_t column = 0; column < columns.size(); ++column) place_.push_back(column);
}

void CsvRows::read_header() {
  const std::string_view header = take_line(rest_);
  line_ = 1;
  if (!split_csv(header, fields_)) {
    refuse_quotes(line_, header, errors_);
    place_.assign(columns_.size(), kAbsent);
    rest_ = {};
    return;
  }
  width_ = fields_.size();
  bool whole = true;
  for (const CsvColumn& column : columns_) {
    const auto found = std::find(fields_.begin(), fields_.end(), column.name);
    const bool absent = found == fields_.end();
    place_.push_back(absent ? kAbsent : static_cast<std::size_t>(found - fields_.begin()));
    if (!absent && std::find(found + 1, fields_.end(), column.name) != fields_.end()) {
      whole = false;
      errors_.add_column_twice(column.name);
    }
    if (!absent || !column.needed) continue;
    whole = false;
    errors_.add_missing_column(header, column.name, "the names of its columns");
  }
  if (!whole) rest_ = {};
}

bool CsvRows::next() {
  while (!rest_.empty()) {
    row_ = take_line(rest_);
    ++line_;
    if (trimmed(row_).empty()) continue;
    ++rows_;
    if (!split_csv(row_, fields_)) {
      refuse_quotes(line_, row_, errors_);
      continue;
    }
    if (fields_.size() == width_) return true;
    errors_.add_wrong_width(
        line_, fields_.size(), row_, "there are " + std::to_string(width_) + " columns");
  }
  return false;
}

std::string_view CsvRows::field(std::size_t column) const {
  return place_[column] == kAbsent ? std::string_view{} : fields_[place_[column]];
}

}  // namespace orrery::sim
