#include "sim/traces/local_time.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>

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
  } else if (zone == TraceZone::ChinaTime) {
    offset = 8 * kHourS;
  }
  time.at = Instant::zero() + Duration::seconds(*wall - offset);
  return time;
}

std::optional<Instant> parse_zoned_time(std::string_view text) {
  constexpr std::size_t kWall = 19;
  constexpr std::size_t kOffset = 6;
  if (text.size() < kWall + kOffset) return std::nullopt;
  const auto wall = parse_local_time(text.substr(0, kWall), TraceZone::None);
  const std::string_view offset = text.substr(text.size() - kOffset);
  const int hours = digits(offset, 1, 2);
  const int minutes = digits(offset, 4, 2);
  const bool sign = offset[0] == '+' || offset[0] == '-';
  if (!wall || !sign || offset[3] != ':' || hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
    return std::nullopt;
  std::string_view fraction = text.substr(kWall, text.size() - kWall - kOffset);
  std::int64_t ns = 0;
  if (!fraction.empty()) {
    if (fraction[0] != '.' || fraction.size() < 2 || fraction.size() > 10) return std::nullopt;
    fraction.remove_prefix(1);
    ns = digits(fraction, 0, fraction.size());
    if (ns < 0) return std::nullopt;
    for (std::size_t place = fraction.size(); place < 9; ++place) ns *= 10;
  }
  const std::int64_t ahead = (hours * kHourS + minutes * 60) * (offset[0] == '+' ? 1 : -1);
  return wall->at - Duration::seconds(ahead) + Duration::nanoseconds(ns);
}

std::string local_time_text(Instant at, TraceZone zone) {
  std::int64_t wall = at.ns / 1'000'000'000;
  if (zone == TraceZone::ChinaTime) wall += 8 * kHourS;
  if (zone == TraceZone::PacificTime) {
    const year_month_day standard{sys_days(std::chrono::days((wall - 8 * kHourS) / kDayS))};
    const std::int64_t begin = change_at(standard.year(), 3, 2) + 8 * kHourS;
    const std::int64_t end = change_at(standard.year(), 11, 1) + 7 * kHourS;
    wall -= (wall >= begin && wall < end ? 7 : 8) * kHourS;
  }
  const year_month_day date{sys_days(std::chrono::days(wall / kDayS))};
  const std::int64_t second = wall % kDayS;
  char text[40];
  std::snprintf(text,
                sizeof text,
                "%04d-%02u-%02u %02d:%02d:%02d",
                static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()),
                static_cast<int>(second / kHourS),
                static_cast<int>(second / 60 % 60),
                static_cast<int>(second % 60));
  return text;
}

}  // namespace orrery::sim
