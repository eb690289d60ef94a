// Wall-clock text of traces to instants, daylight saving included.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"

namespace orrery::sim {

/// How the wall-clock times of a trace are to be read.
enum class TraceZone {
  None,         ///< As if UTC: differences are differences of the wall clock.
  PacificTime,  ///< US Pacific with its daylight saving rule since 2007.
  ChinaTime,    ///< UTC+8, no daylight saving.
};

/// What a wall-clock text stands for.
struct LocalTime {
  Instant at;  ///< Since the Unix epoch, UTC.
  /// The hour happened twice, at the end of daylight saving. `at` is its first passing; the second
  /// is an hour later.
  bool ambiguous = false;
  /// The hour did not happen, at the start of daylight saving. `at` reads it by the offset before.
  bool skipped = false;
};

/// Reads `YYYY-MM-DD HH:MM:SS`, years 1990 to 2100; nothing for any other text.
///
/// Pacific time is UTC-8, and UTC-7 from the second Sunday of March 02:00 to the first Sunday of
/// November 02:00 (in 2017: 12 March to 5 November).
std::optional<LocalTime> parse_local_time(std::string_view text, TraceZone zone);

/// Reads `YYYY-MM-DD HH:MM:SS` with an offset behind it, as `+08:00`; a fraction of the second
/// before the offset is allowed. Nothing for any other text.
std::optional<Instant> parse_zoned_time(std::string_view text);

/// The wall-clock text of `at` in `zone`, as parse_local_time reads it; parts of a second are cut.
/// `at` is from 1990 to 2100.
std::string local_time_text(Instant at, TraceZone zone);

}  // namespace orrery::sim
