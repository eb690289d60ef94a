// One record of the Philly job log as written, and how records become jobs.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/digest.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// A text with the line where it stood; 0 where it is missing.
struct Located {
  std::string text;
  std::size_t line = 0;

  bool missing() const { return line == 0; }
};

/// One start of a job; `gpus` as listed by its machines.
struct RawAttempt {
  Located start;
  Located end;
  int gpus = 0;
};

/// One record as written.
struct RawJob {
  std::size_t line = 0;
  Located id;
  Located status;
  Located vc;
  Located user;
  Located submitted;
  std::vector<RawAttempt> attempts;
  Digest content;  ///< Of all keys and values of the record, those that are not ours included.
};

/// Turns raw records into jobs and keeps the account.
class PhillyJobBuilder {
 public:
  PhillyJobBuilder(const TraceOptions& options, TraceErrors& errors, std::string_view file_name)
      : options_(options), errors_(errors) {
    report_.file = file_name;
    report_.format = "philly-json";
  }

  /// Adds the job, or counts why it gives none, or adds errors.
  void add(const RawJob& raw);

  /// All jobs, once every record was added.
  Trace finish();

 private:
  /// Whether any time of a job fell into an hour that the clock repeated or left out.
  struct OddHours {
    bool ambiguous = false;
    bool skipped = false;
  };

  struct OpenAttempt {
    std::size_t job;
    Instant start;
  };

  /// What is known of the running time of one job.
  struct Run {
    Duration known;
    std::optional<Instant> open_since;
    bool censored = false;
    bool broken = false;
  };

  std::optional<LocalTime> time(const Located& text, const std::string& subject, OddHours& odd);
  std::optional<TraceStatus> status(const RawJob& raw, const std::string& subject);
  Run run(const RawJob& raw, const std::string& subject, OddHours& odd);
  int size(const RawJob& raw);
  std::optional<std::string> unique_name(const RawJob& raw);
  bool drops(TraceReason reason, OddRows choice);

  const TraceOptions& options_;
  TraceErrors& errors_;
  TraceReport report_;
  std::vector<TraceJob> jobs_;
  std::vector<OpenAttempt> open_attempts_;
  // The next number behind each id, and the names with one; looked up, never walked.
  std::unordered_map<std::string, int> numbers_;
  std::unordered_set<std::string> made_;
  std::set<Digest> records_;
  Instant last_mentioned_;
};

/// What messages call the job of `raw`.
std::string subject_of(const RawJob& raw);

}  // namespace orrery::sim
