#include "tools/console/moment.hpp"

#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>

namespace orrery::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kLongestS = 100LL * 366 * 86'400;

/// Seconds of "2h"; nothing where the text is no such length.
std::optional<std::int64_t> length_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits{
      {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86'400}}};
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, why] = std::from_chars(text.data(), end, number);
  if (why != std::errc{} || number < 0 || number > kLongestS) return std::nullopt;
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, seconds] : kUnits)
    if (unit == name && number <= kLongestS / seconds) return number * seconds;
  return std::nullopt;
}

/// Seconds since the epoch of a date with or without a time of day; nothing where it is none.
std::optional<std::int64_t> date_of(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    const bool fits = kShape[i] == 'd'   ? is_digit
                      : kShape[i] == 'T' ? text[i] == 'T' || text[i] == ' '
                                         : text[i] == kShape[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int out = 0;
    for (std::size_t i = at; i < at + digits && i < text.size(); ++i)
      out = out * 10 + (text[i] - '0');
    return out;
  };
  std::tm parts{};
  parts.tm_year = number(0, 4) - 1900;
  parts.tm_mon = number(5, 2) - 1;
  parts.tm_mday = number(8, 2);
  parts.tm_hour = number(11, 2);
  parts.tm_min = number(14, 2);
  parts.tm_sec = number(17, 2);
  const std::tm given = parts;
  const std::time_t seconds = timegm(&parts);
  // What is no day or time of day is taken for a later one.
  const bool is_real = parts.tm_mon == given.tm_mon && parts.tm_mday == given.tm_mday &&
                       parts.tm_hour == given.tm_hour && parts.tm_min == given.tm_min &&
                       parts.tm_sec == given.tm_sec && seconds >= 0 && seconds < kLongestS * 2;
  return is_real ? std::optional<std::int64_t>(seconds) : std::nullopt;
}

}  // namespace

Result<std::int64_t> moment(std::string_view option, std::string_view text, std::int64_t now_ns) {
  if (const auto length = length_of(text)) return now_ns - *length * kSecondNs;
  if (const auto date = date_of(text)) return *date * kSecondNs;
  return Error{.subject = std::string(option),
               .message = "\"" + std::string(text) +
                          "\" found, needed a time in UTC (2026-11-22, 2026-11-22T10:30:05Z) or a "
                          "length before now (90s, 10min, 2h, 7d)"};
}

}  // namespace orrery::cli
