// Jobs of a public trace, in one form whatever the source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/trace_formats.hpp"
#include "sim/traces/local_time.hpp"
#include "sim/traces/trace_report.hpp"

namespace orrery::sim {

/// How a job of a trace ended.
enum class TraceStatus { Unknown, Pass, Killed, Failed };

std::string_view to_string(TraceStatus status);

/// One job of a trace.
struct TraceJob {
  std::string name;   ///< The source's id; where it has none, "line-N" with N its line in the file.
  Instant submit;     ///< Since the trace's origin.
  Duration duration;  ///< Time on its GPUs, waiting not included; at least a second.
  /// Devices it holds; an instance that takes part of a device counts as one. 0 only where such
  /// rows are kept.
  int gpus = 1;
  std::string vc;    ///< Virtual cluster, empty where unknown.
  std::string user;  ///< Empty where unknown.
  TraceStatus status = TraceStatus::Unknown;
  bool censored = false;  ///< `duration` is a lower bound.
  /// Thousandths of GPUs over all instances; 1000 x `gpus` unless instances share GPUs with others.
  /// Set by finish_trace where a reader leaves it 0.
  std::int64_t gpu_milli = 0;
  int instances = 1;                 ///< Equal parts, each on one node; at least 1.
  std::int64_t cpu_milli = 0;        ///< Thousandths of cores over all instances; 0: unknown.
  std::int64_t memory_mib = 0;       ///< Over all instances; 0: unknown.
  std::string models;                ///< Accepted device models, joined by "|"; empty: any.
  std::string kind;                  ///< Class of work as the source names it; empty: unknown.
  double weight = 1.0;               ///< Share weight among users, above 0.
  std::optional<Duration> estimate;  ///< Run time that the user or a model foretold.
  std::optional<Duration> waited;    ///< Time in the queue of the recorded cluster.

  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

/// A whole trace.
struct Trace {
  std::vector<TraceJob> jobs;  ///< By submission, equal times in the order of the file.
  Instant origin;              ///< First submission, since the Unix epoch: zero of `submit`.
  TraceReport report;
};

using scenarios::OddRows;

/// Choices of a reader. The defaults give what a simulation can run, and drop nothing else.
struct TraceOptions {
  TraceZone zone = TraceZone::PacificTime;
  OddRows duplicates = OddRows::Keep;  ///< A second equal submission is a job like any other.
  OddRows zero_gpus = OddRows::Drop;   ///< Jobs that need no device.
  /// Jobs without a known end. Kept, an attempt without an end runs until the last time that the
  /// trace mentions: with few such jobs, these guesses outweigh all others, hence the default.
  OddRows censored = OddRows::Drop;
  /// Model whose measured throughput turns steps into seconds, for traces that count steps.
  std::string device_model = "v100";
  /// Times are not looked at, by formats whose rows can be without: every row is a job, and none
  /// has an end.
  bool untimed = false;
};

/// Longest duration of a job: 100 years.
inline constexpr Duration kTraceDurationMax =
    Duration::seconds(std::int64_t{100} * 365 * 24 * 3600);

/// Last time of a trace whose times are seconds since something: the year 2100 of the Unix epoch.
inline constexpr Duration kTraceTimeMax = Duration::seconds(4'102'444'800);

/// Most GPUs of one job.
inline constexpr int kTraceGpusMax = 1'000'000;

/// Most errors reported for one file; a further one says how many more there are.
inline constexpr std::size_t kTraceErrorsMax = 20;

/// Errors of one file, cut at kTraceErrorsMax.
class TraceErrors {
 public:
  explicit TraceErrors(std::string_view file) : file_(file) {}

  /// `line` from 1. `message`: what was found, what was needed; how to mend it.
  void add(std::size_t line, std::string subject, std::string message);

  /// The first line lacks a column; `names`: what to begin the file with.
  void add_missing_column(std::string_view header, std::string_view column, std::string_view names);

  /// The first line names a column that is read more than once.
  void add_column_twice(std::string_view column);

  /// A row has another number of fields than `need` says: "the format has 18".
  void add_wrong_width(std::size_t line,
                       std::size_t fields,
                       std::string_view row,
                       std::string_view need);

  bool empty() const { return errors_.empty(); }

  /// All of them, with the count of those left out.
  Errors take();

 private:
  std::string file_;
  Errors errors_;
  std::uint64_t left_out_ = 0;
};

/// Short quotation of bad input for an error message: at most 40 bytes, control bytes replaced.
std::string quote_input(std::string_view text);

/// A file that belongs to a trace: the trace itself or a table beside it.
struct TraceFile {
  std::string role;  ///< Of a table beside the trace, as its format names it; empty: the trace.
  std::string path;  ///< For messages.
  std::string text;  ///< All of it.
};

/// Sorts `jobs`, whose `submit` is since the Unix epoch, by time (stably), moves their zero to the
/// first submission, and completes them and `report`.
Trace finish_trace(std::vector<TraceJob> jobs, TraceReport report);

}  // namespace orrery::sim
