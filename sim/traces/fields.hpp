// Numbers and times in the fields of a row; what is wrong becomes an error with its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// `text` without spaces and tabs around it.
std::string_view trimmed(std::string_view text);

/// Takes the next line off `rest`, without its end ("\n" or "\r\n").
std::string_view take_line(std::string_view& rest);

/// The parts of `line` between separators, as they stand.
void split(std::string_view line, char separator, std::vector<std::string_view>& parts);

/// The first line of `text`, and in it no double quote.
std::string line_without_quotes(std::string_view text);

/// Whether the first line of `text`, without its quotes, holds all of these columns.
bool header_has(std::string_view text, std::initializer_list<std::string_view> columns);

/// Nanoseconds of a decimal number of seconds, exact to the ninth decimal (the rest is cut);
/// nothing for other text and beyond +-100 years x 2. "-0.0" is zero.
std::optional<std::int64_t> nanoseconds_in(std::string_view text);

/// Seconds of `ns` as a decimal number that nanoseconds_in reads back exactly.
std::string seconds_text(std::int64_t ns);

/// A finite decimal number; nothing for any other text.
std::optional<double> number_in(std::string_view text);

/// A whole decimal number; nothing for any other text.
std::optional<std::int64_t> whole_number_in(std::string_view text);

/// Reads the fields of one row after another. A wrong field gives the lowest allowed value, an
/// error, and clears `ok`, so that a row is read whole before it is judged.
class FieldReader {
 public:
  explicit FieldReader(TraceErrors& errors) : errors_(errors) {}

  /// Begins the row at `line`, counted from 1.
  void start(std::size_t line) {
    line_ = line;
    ok_ = true;
  }

  /// Whether all fields since `start` were right.
  bool ok() const { return ok_; }

  std::size_t line() const { return line_; }

  /// Reports the field: "found 'text', but NEED is needed; correct or delete the line".
  void refuse(std::string_view name, std::string_view text, std::string_view need);

  /// A whole number from `low` to `high`; decimals of zeros are allowed ("16.0").
  std::int64_t whole(std::string_view name,
                     std::string_view text,
                     std::int64_t low,
                     std::int64_t high);

  /// A finite number from `low` to `high`.
  double number(std::string_view name, std::string_view text, double low, double high);

  /// Thousandths of a number from `low` to `high`, rounded to the nearest; `unit` is what one is
  /// worth in thousandths (1000: units; 10: percent).
  std::int64_t thousandths(
      std::string_view name, std::string_view text, std::int64_t unit, double low, double high);

  /// Seconds from zero to `high`.
  Duration seconds(std::string_view name, std::string_view text, Duration high);

  /// Seconds since zero of the trace, at most kTraceTimeMax.
  Instant time(std::string_view name, std::string_view text) {
    return Instant::zero() + seconds(name, text, kTraceTimeMax);
  }

 private:
  TraceErrors& errors_;
  std::size_t line_ = 0;
  bool ok_ = true;
};

}  // namespace orrery::sim
