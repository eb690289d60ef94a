#include "sim/traces/local_time.hpp"

#include <chrono>
#include <cstdint>

namespace orrery::sim {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t kHourS = 3600;
constexpr std::int64_t kDayS = 24 * kHourS;

/// The decimal number of the digits in text[from, from + count), or -1.
int digits(std::string_view text, std::size_t from, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(from, count)) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Wall-clock seconds since 1970-01-01 00:00 of the same wall clock.
std::optional<std::int64_t> wall_seconds(std::string_view text, year_month_day& date) {
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const int year = digits(text, 0, 4);
  const int month = digits(text, 5, 2);
  const int day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  if (year < 1990 || year > 2100 || month < 1 || day < 1) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return std::nullopt;
  }
  date = year_month_day(std::chrono::year(year),
                        std::chrono::month(static_cast<unsigned>(month)),
                        std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = sys_days(date).time_since_epoch().count();
  return days * kDayS + hour * kHourS + minute * 60 + second;
}

/// Wall-clock seconds at 02:00 of the n-th Sunday of a month.
std::int64_t change_at(std::chrono::year year, unsigned month, unsigned n) {
  const sys_days day = year / std::chrono::month(month) / std::chrono::Sunday[n];
  return day.time_since_epoch().count() * kDayS + 2 * kHourS;
}

}  // namespace

std::optional<LocalTime> parse_local_time(std::string_view text, TraceZone zone) {
  year_month_day date{};
  const std::optional<std::int64_t> wall = wall_seconds(text, date);
  if (!wall) return std::nullopt;
  LocalTime time;
  std::int64_t offset = 0;
  if (zone == TraceZone::PacificTime) {
    const std::int64_t forward = change_at(date.year(), 3, 2);
    const std::int64_t back = change_at(date.year(), 11, 1);
    time.skipped = *wall >= forward && *wall < forward + kHourS;
    time.ambiguous = *wall >= back - kHourS && *wall < back;
    const bool daylight = *wall >= forward + kHourS && *wall < back;
    offset = daylight ? -7 * kHourS : -8 * kHourS;
  }
  time.at = Instant::zero() + Duration::seconds(*wall - offset);
  return time;
}

}  // namespace orrery::sim
