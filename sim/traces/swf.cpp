#include "sim/traces/swf.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kWidth = 18;
constexpr double kNumberMax = 1e15;

/// The fields that the reader uses; field n of the format is n - 1 here.
enum Field : std::size_t {
  Id = 0,
  Submit = 1,
  Wait = 2,
  Run = 3,
  GivenProcessors = 4,
  UsedMemory = 6,
  AskedProcessors = 7,
  AskedTime = 8,
  AskedMemory = 9,
  Status = 10,
  User = 11,
  Queue = 14,
  Partition = 15,
};

constexpr std::array<std::string_view, kWidth> kNames = {"job",
                                                         "submit time",
                                                         "wait time",
                                                         "run time",
                                                         "processors",
                                                         "cpu time",
                                                         "used memory",
                                                         "asked processors",
                                                         "asked time",
                                                         "asked memory",
                                                         "status",
                                                         "user",
                                                         "group",
                                                         "executable",
                                                         "queue",
                                                         "partition",
                                                         "preceding job",
                                                         "think time"};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return out;
    line.remove_prefix(first);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// Word `index` of a line, from 0; empty where there are fewer.
std::string_view word_at(std::string_view line, std::size_t index) {
  while (true) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    line.remove_prefix(first);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    if (index-- == 0) return line.substr(0, end);
    line.remove_prefix(end);
  }
}

/// Whether a line of this status is a stretch of a job that was interrupted, which has a line of
/// its own as a whole.
bool is_part(double status) { return status == 2 || status == 3 || status == 4; }

/// Jobs of which `text` holds both: stretches, and the line that sums them up.
std::set<double> jobs_in_parts(std::string_view text) {
  const auto ids = [text](auto takes) {
    std::set<double> out;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = take_line(rest);
      const auto status = number_in(word_at(line, Status));
      if (!status || trimmed(line).starts_with(';')) continue;
      const auto id = number_in(word_at(line, Id));
      if (id && *id >= 0 && takes(*id, *status)) out.insert(*id);
    }
    return out;
  };
  const std::set<double> parts = ids([](double, double status) { return is_part(status); });
  if (parts.empty()) return parts;
  return ids([&](double id, double status) {
    return (status == 0 || status == 1 || status == 5) && parts.contains(id);
  });
}

class SwfReader {
 public:
  SwfReader(std::string_view file, const TraceOptions& options)
      : builder_(file, "swf", options), fields_(builder_.errors()) {}

  Result<Trace> read(std::string_view text) {
    in_parts_ = jobs_in_parts(text);
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::string_view row = take_line(text);
      const std::string_view content = trimmed(row);
      fields_.start(line);
      if (content.starts_with(';')) {
        read_comment(content);
      } else if (!content.empty()) {
        read_row(row);
      }
    }
    return builder_.finish();
  }

 private:
  void read_comment(std::string_view comment) {
    constexpr std::string_view kStart = "UnixStartTime:";
    comment = trimmed(comment.substr(1));
    if (!comment.starts_with(kStart)) return;
    start_ = fields_.time("UnixStartTime", trimmed(comment.substr(kStart.size())));
  }

  void read_row(std::string_view row) {
    if (!builder_.row(row)) return;
    fields_words_ = words(row);
    if (fields_words_.size() != kWidth) {
      builder_.errors().add_wrong_width(
          fields_.line(), fields_words_.size(), row, "the format has 18");
      return;
    }
    for (std::size_t field = 0; field < kWidth; ++field)
      values_[field] = fields_.number(kNames[field], fields_words_[field], -kNumberMax, kNumberMax);
    if (!fields_.ok()) return;
    if (is_part(values_[Status]) && in_parts_.contains(values_[Id]))
      return builder_.drop(TraceReason::PartOfJob);
    if (values_[Submit] < 0) return builder_.drop(TraceReason::NoSubmitTime);
    if (values_[Run] < 0) return builder_.drop(TraceReason::NoRunTime);
    const bool asked = values_[AskedProcessors] > 0;
    const std::size_t size = asked ? AskedProcessors : GivenProcessors;
    if (values_[size] <= 0) return builder_.drop(TraceReason::NoSize);
    add_job(size);
  }

  void add_job(std::size_t size) {
    TraceJob job;
    job.name = id_text(Id);
    job.submit = start_ + time(Submit, kTraceTimeMax - (start_ - Instant::zero()));
    job.duration = time(Run, kTraceDurationMax);
    job.gpus = static_cast<int>(fields_.whole(kNames[size], fields_words_[size], 1, kTraceGpusMax));
    if (values_[AskedTime] > 0) job.estimate = time(AskedTime, kTraceDurationMax);
    if (values_[Wait] >= 0) job.waited = time(Wait, kTraceDurationMax);
    const std::size_t memory = values_[AskedMemory] > 0 ? AskedMemory : UsedMemory;
    if (values_[memory] > 0) job.memory_mib = mebibytes(values_[memory] * job.gpus);
    job.status = status();
    job.user = id_text(User);
    job.kind = id_text(Queue);
    job.vc = id_text(Partition);
    if (!fields_.ok()) return;
    if (size != AskedProcessors) builder_.altered(TraceReason::OtherSizeField);
    builder_.add(std::move(job));
  }

  /// The field as a time; a tiny negative one ("-0.0") is zero.
  Duration time(Field field, Duration high) {
    return values_[field] <= 0 ? Duration::zero()
                               : fields_.seconds(kNames[field], fields_words_[field], high);
  }

  /// The number of a user, queue or job as text; empty where it is missing. "18.00" is "18".
  std::string id_text(Field field) const {
    if (values_[field] < 0) return {};
    const auto whole = static_cast<std::int64_t>(values_[field]);
    if (static_cast<double>(whole) == values_[field]) return std::to_string(whole);
    return std::string(fields_words_[field]);
  }

  static std::int64_t mebibytes(double kibibytes) {
    return static_cast<std::int64_t>(std::min(kibibytes / 1024.0 + 0.5, kNumberMax));
  }

  TraceStatus status() const {
    if (values_[Status] == 1) return TraceStatus::Pass;
    if (values_[Status] == 0) return TraceStatus::Failed;
    return values_[Status] == 5 ? TraceStatus::Killed : TraceStatus::Unknown;
  }

  TraceBuilder builder_;
  FieldReader fields_;
  Instant start_;
  std::set<double> in_parts_;
  std::vector<std::string_view> fields_words_;
  std::array<double, kWidth> values_{};
};

}  // namespace

bool looks_like_swf(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (line.empty()) continue;
    if (line.starts_with(';')) return true;
    const std::vector<std::string_view> fields = words(line);
    if (fields.size() != kWidth) return false;
    for (const std::string_view field : fields)
      if (!number_in(field)) return false;
    return true;
  }
  return false;
}

Result<Trace> parse_swf(std::string_view text,
                        std::string_view file_name,
                        const TraceOptions& options) {
  return SwfReader(file_name, options).read(text);
}

}  // namespace orrery::sim
