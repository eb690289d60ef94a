#include "core/base/utc_text.hpp"

#include <cstdint>

namespace orrery {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;

std::string padded(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

struct Date {
  std::int64_t year = 1970;
  std::int64_t month = 1;
  std::int64_t day = 1;
};

/// Years are counted from March here, so that a leap day is the last of its year.
Date date_of(std::int64_t days_since_epoch) {
  constexpr std::int64_t kDaysTo1970 = 719'468;  // Since 0000-03-01.
  constexpr std::int64_t kDaysPerEra = 146'097;  // 400 years.
  const std::int64_t days = days_since_epoch + kDaysTo1970;
  const std::int64_t era = (days >= 0 ? days : days - kDaysPerEra + 1) / kDaysPerEra;
  const std::int64_t day_of_era = days - era * kDaysPerEra;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  Date out;
  out.day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  out.month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  out.year = year_of_era + era * 400 + (out.month <= 2 ? 1 : 0);
  return out;
}

}  // namespace

std::string utc_text(Instant at) {
  if (at.is_never()) return {};
  std::int64_t seconds = at.ns / kNsPerSecond;
  std::int64_t ns = at.ns % kNsPerSecond;
  if (ns < 0) {
    ns += kNsPerSecond;
    --seconds;
  }
  std::int64_t days = seconds / kSecondsPerDay;
  std::int64_t of_day = seconds % kSecondsPerDay;
  if (of_day < 0) {
    of_day += kSecondsPerDay;
    --days;
  }
  const Date date = date_of(days);
  std::string out = padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) +
                    "T" + padded(of_day / 3600, 2) + ":" + padded(of_day / 60 % 60, 2) + ":" +
                    padded(of_day % 60, 2);
  if (ns > 0) out += "." + padded(ns, 9);
  return out + "Z";
}

}  // namespace orrery
