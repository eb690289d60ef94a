#include "tools/console/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "core/base/invariant.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kGap = 2;  // Places between columns.

/// Characters shown: UTF-8 continuation bytes take no column.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string fixed(double value, int decimals) {
  char text[400];
  const int length = std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return std::string(text, static_cast<std::size_t>(length));
}

void trim_right(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

void Table::add_row(std::vector<Cell> row) {
  invariant(row.size() == columns_.size(), "a row has as many cells as the table has columns");
  rows_.push_back(std::move(row));
}

bool Table::is_best(std::size_t row, std::size_t column) const {
  if (columns_[column].better == Better::Neither) return false;
  double lowest = rows_.front()[column].value;
  double highest = lowest;
  for (const auto& each : rows_) {
    lowest = std::min(lowest, each[column].value);
    highest = std::max(highest, each[column].value);
  }
  const double best = columns_[column].better == Better::Lower ? lowest : highest;
  return lowest != highest && rows_[row][column].value == best;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c].text));
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::size_t> Table::shown(const std::vector<std::size_t>& widths,
                                      std::size_t width_max) const {
  std::vector<std::size_t> shown;
  std::size_t width = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    shown.push_back(c);
    width += widths[c] + (c > 0 ? kGap : 0);
  }
  while (width > width_max) {
    const auto least =
        std::ranges::max_element(shown, {}, [&](std::size_t c) { return columns_[c].spare; });
    if (columns_[*least].spare == 0) break;
    width -= widths[*least] + kGap;
    shown.erase(least);
  }
  return shown;
}

std::string Table::text(bool colour, std::size_t width_max) const {
  const std::vector<std::size_t> width = widths();
  const std::vector<std::size_t> columns = shown(width, width_max);
  const auto put = [&](std::string& line, std::size_t c, const std::string& shown, bool best) {
    const std::string space(width[c] - width_of(shown), ' ');
    if (!line.empty()) line.append(kGap, ' ');
    if (!columns_[c].left) line += space;
    line += best ? "\x1b[1;32m" + shown + "\x1b[0m" : shown;
    if (columns_[c].left) line += space;
  };
  std::string out;
  std::string line;
  for (const std::size_t c : columns) put(line, c, columns_[c].title, false);
  trim_right(line);
  out += line + "\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    line.clear();
    for (const std::size_t c : columns) put(line, c, rows_[r][c].text, colour && is_best(r, c));
    trim_right(line);
    out += line + "\n";
  }
  return out;
}

std::string with_commas(double value, int decimals) {
  std::string text = fixed(value, decimals);
  const std::size_t point = text.find('.');
  const std::size_t first = text[0] == '-' ? 1 : 0;
  for (std::size_t at = point == text.npos ? text.size() : point; at > first + 3; at -= 3)
    text.insert(at - 3, 1, ',');
  return text;
}

std::string time_in_words(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  const auto two =
      [](std::int64_t large, const char* large_unit, std::int64_t small, const char* small_unit) {
        std::string out = std::to_string(large) + " " + large_unit;
        if (small > 0) out += " " + std::to_string(small) + " " + small_unit;
        return out;
      };
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return two(whole / 60, "min", whole % 60, "s");
  if (whole < 86400) return two(whole / 3600, "h", whole % 3600 / 60, "min");
  return two(whole / 86400, "d", whole % 86400 / 3600, "h");
}

}  // namespace orrery::cli
