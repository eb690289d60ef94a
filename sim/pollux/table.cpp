#include "sim/pollux/table.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>

#include "core/base/number_text.hpp"
#include "core/base/plain_lines.hpp"
#include "core/base/stream_text.hpp"

namespace orrery::sim {

namespace {

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  for (std::size_t comma = line.find(','); comma != std::string_view::npos;
       comma = line.find(',', begin)) {
    fields.push_back(line.substr(begin, comma - begin));
    begin = comma + 1;
  }
  fields.push_back(line.substr(begin));
  return fields;
}

std::string joined(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ",") + std::string(word);
  return out;
}

/// A number without unneeded digits.
std::string shown(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

}  // namespace

Errors read_table(const std::filesystem::path& file,
                  const std::vector<std::string_view>& columns,
                  Table& table,
                  std::size_t optional) {
  std::span<const std::string_view> present(columns);
  const std::span<const std::string_view> needed = present.first(columns.size() - optional);
  const std::string may_follow =
      optional == 0 ? "" : ", or with `" + joined(present.last(optional)) + "` at the end";
  table.file = file.string();
  std::ifstream stream(file, std::ios::binary);
  std::optional<std::string> read = rest_of(stream);
  if (!read) {
    return {Error{.code = ErrorCode::NotFound,
                  .file = table.file,
                  .message = "cannot be read, a readable file is needed; check the path"}};
  }
  table.text = plain_lines(*std::move(read));
  Errors errors;
  const std::string_view text = table.text;
  int line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line_number == 1) {
      if (line == joined(columns)) continue;
      present = needed;
      if (line == joined(needed)) continue;
      return {Error{.file = table.file,
                    .line = 1,
                    .subject = "header",
                    .message = "found `" + std::string(line.substr(0, 100)) + "`, needed `" +
                               joined(needed) + "`" + may_follow +
                               "; name the columns in this order"}};
    }
    if (line.empty()) continue;
    std::vector<std::string_view> fields = split_fields(line);
    if (fields.size() != present.size()) {
      errors.push_back(Error{.file = table.file,
                             .line = line_number,
                             .subject = "row",
                             .message = "found " + std::to_string(fields.size()) +
                                        " fields, needed " + std::to_string(present.size()) + " (" +
                                        joined(present) + "); add or remove commas"});
      continue;
    }
    table.rows.push_back({line_number, std::move(fields)});
  }
  if (line_number == 0) {
    errors.push_back(Error{.file = table.file,
                           .message = "is empty, needed the header `" + joined(needed) +
                                      "`; check that the file is complete"});
  }
  return errors;
}

Errors by_line(Errors errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const Error& a, const Error& b) {
    return a.file != b.file ? a.file < b.file : a.line < b.line;
  });
  return errors;
}

double RowReader::number(std::size_t column, double least) {
  const std::optional<double> value = parsed_number<double>(text(column));
  if (value && *value >= least) return *value;
  reject(column, "a number of at least " + shown(least));
  return least;
}

int RowReader::whole(std::size_t column, int least) {
  const std::optional<int> value = parsed_number<int>(text(column));
  if (value && *value >= least) return *value;
  reject(column, "a whole number of at least " + std::to_string(least));
  return least;
}

void RowReader::reject(std::size_t column, const std::string& needed) {
  errors_->push_back(Error{.file = table_->file,
                           .line = row_->line,
                           .subject = std::string((*columns_)[column]),
                           .message = "found `" + std::string(text(column).substr(0, 100)) +
                                      "`, needed " + needed + "; mend or remove the line"});
}

}  // namespace orrery::sim
