// What every reader does with a row once its fields are read: names, tags, drops, counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Collects the jobs of one trace and keeps the account of its rows.
class TraceBuilder {
 public:
  /// `options` outlives the builder.
  TraceBuilder(std::string_view file, std::string_view format, const TraceOptions& options)
      : options_(options), errors_(file) {
    report_.file = file;
    report_.format = format;
  }

  TraceErrors& errors() { return errors_; }

  TraceReport& report() { return report_; }

  /// Counts a row, and whether it equals an earlier one; false where it is dropped for that.
  /// `row` lives as long as the builder.
  bool row(std::string_view row);

  /// Counts the last row as dropped.
  void drop(TraceReason reason) { report_.count(reason, TraceAction::Dropped); }

  void altered(TraceReason reason) { report_.count(reason, TraceAction::Altered); }

  /// A time that the trace tells: those without an end run until the last one.
  void mention(Instant at) { last_mentioned_ = std::max(last_mentioned_, at); }

  /// The row's job, `submit` since the Unix epoch. Drops it where the options say so; gives it a
  /// name of its own, "row-N" where it has none.
  void add(TraceJob job) { take(std::move(job), std::nullopt); }

  /// A job that began at `start` and whose end is missing.
  void add_censored(TraceJob job, Instant start) { take(std::move(job), start); }

  /// The trace, or all errors.
  Result<Trace> finish();

 private:
  struct OpenJob {
    std::size_t job;
    Instant start;
  };

  bool drops(TraceReason reason, OddRows choice);
  void take(TraceJob job, std::optional<Instant> open_since);
  void make_unique(std::string& name);

  const TraceOptions& options_;
  TraceErrors errors_;
  TraceReport report_;
  std::vector<TraceJob> jobs_;
  std::vector<OpenJob> open_;
  Instant last_mentioned_;
  std::unordered_set<std::string_view> rows_;   // Looked up, never walked.
  std::unordered_map<std::string, int> names_;  // Uses of each; looked up, never walked.
};

/// Sets what `job` takes: `instances` equal parts of `milli` thousandths of GPUs each. Parts of a
/// GPU are not shared between the instances of one job.
void set_gpus(TraceJob& job, int instances, std::int64_t milli);

}  // namespace orrery::sim
