#include "sim/traces/fields.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.hpp"

namespace orrery::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSecondsMax = std::int64_t{200} * 366 * 24 * 3600;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "12", "12.5" as people write limits.
std::string plain(double value) {
  if (value == std::floor(value) && std::fabs(value) <= 1e15)
    return std::to_string(static_cast<std::int64_t>(value));
  return std::to_string(value);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

void split(std::string_view line, char separator, std::vector<std::string_view>& parts) {
  parts.clear();
  while (true) {
    const std::size_t end = line.find(separator);
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

std::string line_without_quotes(std::string_view text) {
  std::string line(take_line(text));
  std::erase(line, '"');
  return line;
}

bool header_has(std::string_view text, std::initializer_list<std::string_view> columns) {
  const std::string header = line_without_quotes(text);
  return std::ranges::all_of(
      columns, [&](std::string_view column) { return header.find(column) != std::string::npos; });
}

std::optional<double> number_in(std::string_view text) { return parsed_number<double>(text); }

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  return parsed_number<std::int64_t>(text);
}

std::optional<std::int64_t> nanoseconds_in(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view rest = text.substr(negative ? 1 : 0);
  std::int64_t whole = 0;
  std::int64_t part = 0;
  std::size_t digits = 0;
  while (!rest.empty() && is_digit(rest.front()) && whole <= kSecondsMax) {
    whole = 10 * whole + (rest.front() - '0');
    rest.remove_prefix(1);
    ++digits;
  }
  if (digits > 0 && rest.starts_with('.')) {
    rest.remove_prefix(1);
    for (std::int64_t worth = kSecond / 10; !rest.empty() && is_digit(rest.front()); worth /= 10) {
      part += worth * (rest.front() - '0');
      rest.remove_prefix(1);
    }
  }
  if (digits == 0 || !rest.empty()) {
    // Exponents and the like: to the precision of a double.
    const auto value = number_in(text);
    if (!value || std::fabs(*value) > static_cast<double>(kSecondsMax)) return std::nullopt;
    return Duration::from_seconds(*value).ns;
  }
  if (whole > kSecondsMax) return std::nullopt;
  const std::int64_t ns = whole * kSecond + part;
  return negative ? -ns : ns;
}

std::string seconds_text(std::int64_t ns) {
  std::string out = ns < 0 ? "-" : "";
  const std::int64_t positive = ns < 0 ? -ns : ns;
  out += std::to_string(positive / kSecond);
  if (positive % kSecond == 0) return out;
  std::string part = std::to_string(kSecond + positive % kSecond).substr(1);
  while (part.back() == '0') part.pop_back();
  return out + "." + part;
}

void FieldReader::refuse(std::string_view name, std::string_view text, std::string_view need) {
  ok_ = false;
  errors_.add(line_,
              std::string(name),
              "found " + quote_input(text) + ", but " + std::string(need) +
                  " is needed; correct or delete the line");
}

double FieldReader::number(std::string_view name, std::string_view text, double low, double high) {
  const auto value = number_in(text);
  if (value && *value >= low && *value <= high) return *value;
  refuse(name, text, "a number from " + plain(low) + " to " + plain(high));
  return low;
}

std::int64_t FieldReader::whole(std::string_view name,
                                std::string_view text,
                                std::int64_t low,
                                std::int64_t high) {
  const auto value = number_in(text);
  if (value && *value == std::floor(*value) && *value >= static_cast<double>(low) &&
      *value <= static_cast<double>(high))
    return static_cast<std::int64_t>(*value);
  refuse(name, text, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return low;
}

std::int64_t FieldReader::thousandths(
    std::string_view name, std::string_view text, std::int64_t unit, double low, double high) {
  return std::llround(number(name, text, low, high) * static_cast<double>(unit));
}

Duration FieldReader::seconds(std::string_view name, std::string_view text, Duration high) {
  const auto ns = nanoseconds_in(text);
  if (ns && *ns >= 0 && *ns <= high.ns) return Duration::nanoseconds(*ns);
  refuse(name, text, "a number of seconds from 0 to " + seconds_text(high.ns));
  return Duration::zero();
}

}  // namespace orrery::sim
