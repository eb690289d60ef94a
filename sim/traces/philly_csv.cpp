#include "sim/traces/philly_csv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"

namespace orrery::sim {
namespace {

/// Columns that the reader knows, and their names in the header.
enum class Column : std::size_t { Timestamp, Duration, Gpus, Cluster, GpuTime, Count };

constexpr auto kColumns = static_cast<std::size_t>(Column::Count);
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "timestamp", "duration", "num_gpus", "cluster", "gpu_time"};

class PhillyCsvReader {
 public:
  PhillyCsvReader(std::string_view file_name, const TraceOptions& options)
      : options_(options), errors_(file_name) {
    report_.file = file_name;
    report_.format = "philly";
  }

  Result<Trace> read(std::string_view text) {
    if (read_header(take_line(text))) {
      // A line of the extract has about 42 bytes.
      jobs_.reserve(text.size() / 40);
      for (line_ = 2; !text.empty(); ++line_) read_row(take_line(text));
    }
    if (!errors_.empty()) return errors_.take();
    return finish_trace(std::move(jobs_), std::move(report_));
  }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  bool read_header(std::string_view line) {
    if (!split_csv(line, fields_)) {
      refuse_quotes(1, line, errors_);
      return false;
    }
    width_ = fields_.size();
    for (std::size_t column = 0; column < kColumns; ++column) {
      const auto found = std::find(fields_.begin(), fields_.end(), kColumnNames[column]);
      place_[column] =
          found == fields_.end() ? kAbsent : static_cast<std::size_t>(found - fields_.begin());
      if (std::count(fields_.begin(), fields_.end(), kColumnNames[column]) > 1)
        errors_.add_column_twice(kColumnNames[column]);
      if (place_[column] != kAbsent || column == static_cast<std::size_t>(Column::GpuTime))
        continue;
      errors_.add_missing_column(
          line, kColumnNames[column], "timestamp,duration,num_gpus,gpu_time,cluster");
    }
    return errors_.empty();
  }

  void read_row(std::string_view line) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    ++report_.rows;
    if (!split_row(line)) return;
    const std::optional<LocalTime> submit = read_time();
    const std::optional<double> duration_s = read_duration();
    const std::optional<int> gpus = read_gpus();
    if (!submit || !duration_s || !gpus || !gpu_time_agrees(*duration_s, *gpus)) return;
    if (drops(line, *gpus)) return;
    note_hour(*submit);
    TraceJob job;
    job.name = "line-" + std::to_string(line_);
    job.submit = submit->at;
    job.duration = Duration::from_seconds(*duration_s);
    if (job.duration < Duration::seconds(1)) {
      report_.count(TraceReason::ZeroDuration, TraceAction::Altered);
      job.duration = Duration::seconds(1);
    }
    job.gpus = *gpus;
    job.vc = field(Column::Cluster);
    jobs_.push_back(std::move(job));
  }

  /// Fills `fields_` with views of the row's fields.
  bool split_row(std::string_view line) {
    if (!split_csv(line, fields_)) {
      refuse_quotes(line_, line, errors_);
      return false;
    }
    if (fields_.size() == width_) return true;
    errors_.add_wrong_width(
        line_, fields_.size(), line, "the header names " + std::to_string(width_));
    return false;
  }

  std::string_view field(Column column) const {
    return fields_[place_[static_cast<std::size_t>(column)]];
  }

  std::optional<LocalTime> read_time() {
    const auto time = parse_local_time(field(Column::Timestamp), options_.zone);
    if (!time) {
      errors_.add(line_,
                  "timestamp",
                  "found " + quote_input(field(Column::Timestamp)) +
                      ", but a date and time of the calendar is needed; write it as 2017-10-09 "
                      "07:01:55");
    }
    return time;
  }

  std::optional<double> read_duration() {
    const auto duration_s = number_in(field(Column::Duration));
    if (duration_s && *duration_s >= 0.0 && *duration_s <= kTraceDurationMax.in_seconds())
      return duration_s;
    errors_.add(line_,
                "duration",
                "found " + quote_input(field(Column::Duration)) +
                    ", but seconds from 0 to 100 years are needed; correct or delete the line");
    return std::nullopt;
  }

  std::optional<int> read_gpus() {
    const auto gpus = whole_number_in(field(Column::Gpus));
    if (gpus && *gpus >= 0 && *gpus <= kTraceGpusMax) return static_cast<int>(*gpus);
    errors_.add(line_,
                "num_gpus",
                "found " + quote_input(field(Column::Gpus)) +
                    ", but a whole number from 0 to 1000000 is needed; correct or delete the line");
    return std::nullopt;
  }

  bool gpu_time_agrees(double duration_s, int gpus) {
    if (place_[static_cast<std::size_t>(Column::GpuTime)] == kAbsent) return true;
    const std::string_view text = field(Column::GpuTime);
    const auto gpu_time_s = number_in(text);
    const double wanted = duration_s * gpus;
    if (gpu_time_s && std::fabs(*gpu_time_s - wanted) <= 1e-6 * wanted) return true;
    errors_.add(line_,
                "gpu_time",
                "found " + quote_input(text) + ", but duration x num_gpus is " +
                    std::to_string(wanted) + "; correct one of the three, or leave the column out");
    return false;
  }

  /// True when the row gives no job, which is then counted.
  bool drops(std::string_view line, int gpus) {
    const auto noted = [&](TraceReason reason, OddRows choice) {
      const bool drop = choice == OddRows::Drop;
      report_.count(reason, drop ? TraceAction::Dropped : TraceAction::Kept);
      return drop;
    };
    // A set of views into the text: looked up, never walked.
    if (!seen_.insert(line).second && noted(TraceReason::ExactDuplicate, options_.duplicates)) {
      return true;
    }
    return gpus == 0 && noted(TraceReason::ZeroGpus, options_.zero_gpus);
  }

  void note_hour(const LocalTime& time) {
    if (time.ambiguous) report_.count(TraceReason::AmbiguousHour, TraceAction::Altered);
    if (time.skipped) report_.count(TraceReason::SkippedHour, TraceAction::Altered);
  }

  const TraceOptions& options_;
  TraceErrors errors_;
  TraceReport report_;
  std::array<std::size_t, kColumns> place_{};  // Field of each known column, or kAbsent.
  std::size_t width_ = 0;
  std::size_t line_ = 1;
  std::vector<std::string_view> fields_;
  std::vector<TraceJob> jobs_;
  std::unordered_set<std::string_view> seen_;
};

}  // namespace

Result<Trace> parse_philly_csv(std::string_view text,
                               std::string_view file_name,
                               const TraceOptions& options) {
  return PhillyCsvReader(file_name, options).read(text);
}

bool looks_like_philly_csv(std::string_view text) {
  return header_has(text, {"timestamp", "num_gpus"});
}

}  // namespace orrery::sim
