// Failure and repair records of Los Alamos National Laboratory, LA-UR-05-7318: nine years of 23
// systems. Credit for the records is due to Los Alamos.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/json_text.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace orrery::sim {

/// What a failure was put down to.
enum class LanlCause : std::uint8_t {
  Facilities,
  Hardware,
  HumanError,
  Network,
  Undetermined,
  Software,
  None,  ///< No column of a cause is filled.
};

inline constexpr std::size_t kLanlCauses = 7;

/// One record.
struct LanlFailure {
  std::int32_t system = 0;  ///< 2 to 24.
  std::int32_t nodes = 0;   ///< Nodes of the system; 0 where the row does not say.
  std::int32_t node = -1;   ///< Counted from 0; -1 where the row does not say.
  Instant started;          ///< Wall clock, read as if it were UTC, since the Unix epoch.
  Duration down;            ///< As recorded; zero occurs.
  LanlCause cause = LanlCause::None;
  std::string detail;  ///< What stands in the cause's column: "CPU", "Memory Dimm", ...
};

/// Oddities that are kept and counted.
enum class LanlOddity : std::uint8_t {
  NoNode,         ///< The node fields are empty (system 17).
  NodeBeyond,     ///< The node's number is not below the system's nodes.
  NoCause,        ///< No cause is given.
  ZeroDownTime,   ///< Repaired in the minute of its start.
  TimesDisagree,  ///< Down time is not end minus start, by more than a minute; it is what counts.
};

inline constexpr std::size_t kLanlOddities = 5;

/// All records of a file, in its order.
struct LanlRecords {
  std::string file;
  std::vector<LanlFailure> failures;
  std::array<std::uint64_t, kLanlOddities> odd{};

  std::uint64_t counted(LanlOddity oddity) const { return odd[static_cast<std::size_t>(oddity)]; }
};

/// Reads the records as comma-separated values with a header; fields may stand in quotes. Columns
/// are found by name, others are let be. Errors: columns that are missing, rows with another number
/// of fields, values that are none, repair before start, two causes; at most kTraceErrorsMax.
Result<LanlRecords> parse_lanl_failures(std::string_view text, std::string_view file_name);

/// Whether a text begins like these records.
bool looks_like_lanl(std::string_view text);

/// What the records hold, in a few numbers.
struct LanlSummary {
  std::uint64_t records = 0;
  std::array<std::uint64_t, kLanlCauses> by_cause{};
  std::map<std::int32_t, std::uint64_t> by_system;
  std::map<std::string, std::uint64_t> hardware;  ///< Hardware failures by part.
  Instant first;                                  ///< Since the Unix epoch; zero without records.
  Instant last;
  Duration median;  ///< Of down times, at place q x records, rounded down, in ascending order.
  Duration mean;
  Duration p99;
  Duration longest;

  /// Lines for people.
  std::string text() const;

  /// One object with the same content, times in seconds.
  void write(JsonText& json) const;
};

LanlSummary summarise(const LanlRecords& records);

/// The oddities that occur, for people; empty where none does.
std::string oddities_text(const LanlRecords& records);

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::LanlCause> {
  static constexpr std::array kNames{
      "Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software", "none"};
};

template <>
struct EnumNames<sim::LanlOddity> {
  static constexpr std::array kNames{"no node given",
                                     "node beyond the system's",
                                     "no cause given",
                                     "zero down time",
                                     "down time is not end minus start"};
};

}  // namespace orrery
