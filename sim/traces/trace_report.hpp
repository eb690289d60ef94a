// The account of what a trace reader did with every row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json_text.hpp"
#include "core/base/units.hpp"

namespace orrery::sim {

/// Why a row of a trace is mentioned in its report.
enum class TraceReason {
  ExactDuplicate,   ///< Equal to an earlier row in every column (CSV) and every value (JSON).
  AmbiguousHour,    ///< A time within the hour that the clock passed twice; taken as the first.
  SkippedHour,      ///< A time that the clock left out; read by the offset before the change.
  NeverStarted,     ///< No attempt: neither size nor duration is known.
  Censored,         ///< A start or end is missing: the duration is known only to be longer.
  SeveralAttempts,  ///< Started more than once; the duration is the sum of the attempts.
  SizesDiffer,      ///< Attempts of different size; the first counts.
  ZeroGpus,         ///< Asks for no GPU.
  ZeroDuration,     ///< Ran for less than a second; taken as one second.
  NameUsedBefore,   ///< Of the same id as an earlier row; gets a number behind it.
  NoSubmitTime,     ///< When it entered the queue is missing.
  NoRunTime,        ///< How long it ran is missing, and so is any bound.
  NoSize,           ///< How much it asked for is missing.
  OtherSizeField,   ///< The asked size is missing; what it was given counts, or the reverse.
  EndsBeforeStart,  ///< Its times are in an impossible order.
  TimesDisagree,    ///< The stated duration is not end - start; the times count.
  NoThroughput,     ///< The throughput table has no such job on so many GPUs of the model.
  SeveralTasks,     ///< Tasks of different kinds in one job; their requests are added.
  NoTasks,          ///< A job that no row of the task table belongs to.
  NoJob,            ///< A row of another table whose job is not in the trace.
  TooLong,          ///< Waited or ran for more than `kTraceDurationMax`; taken as that.
  PartOfJob,        ///< A stretch of a job that was interrupted; another row is the whole job.
};

inline constexpr std::size_t kTraceReasons = 22;

std::string_view to_string(TraceReason reason);

/// What was done about it.
enum class TraceAction {
  Kept,     ///< The job is as the row says; the reason is worth knowing.
  Altered,  ///< The job differs from the row.
  Dropped,  ///< The row gives no job.
};

inline constexpr std::size_t kTraceActions = 3;

std::string_view to_string(TraceAction action);

/// Counts of rows by reason and action. A row may be kept or altered for several reasons; it is
/// dropped for exactly one, so rows = jobs + dropped().
class TraceReport {
 public:
  std::string file;    ///< As named by the caller.
  std::string format;  ///< "philly", "openb", ...
  /// Rows or records read, header and blank lines not counted. Of tables beside the trace, only
  /// rows that belong to none of its jobs count.
  std::uint64_t rows = 0;
  std::uint64_t jobs = 0;  ///< Jobs given.
  Instant first_submit;    ///< Since the Unix epoch; zero without jobs.
  Instant last_submit;

  void count(TraceReason reason, TraceAction action) { ++counts_[index(reason, action)]; }

  std::uint64_t counted(TraceReason reason, TraceAction action) const {
    return counts_[index(reason, action)];
  }

  /// Rows dropped, of all reasons.
  std::uint64_t dropped() const;

  /// Lines for people: rows, jobs, then each count that is not zero.
  std::string text() const;

  /// One object with the same content.
  void write(JsonText& json) const;

 private:
  static std::size_t index(TraceReason reason, TraceAction action) {
    return static_cast<std::size_t>(reason) * kTraceActions + static_cast<std::size_t>(action);
  }

  std::array<std::uint64_t, kTraceReasons * kTraceActions> counts_{};
};

}  // namespace orrery::sim
