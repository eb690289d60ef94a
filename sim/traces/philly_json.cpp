#include "sim/traces/philly_json.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/traces/json_lines.hpp"
#include "sim/traces/philly_record.hpp"

namespace orrery::sim {
namespace {

/// Receives the parser's calls and fills one RawJob at a time. Where the text has another shape
/// than the log, the part is an error and skipped.
class LogHandler : public TraceJsonHandler {
 public:
  LogHandler(PhillyJobBuilder& builder, TraceErrors& errors, const std::size_t& line)
      : TraceJsonHandler(errors, line), builder_(builder) {}

  bool null() override { return value(std::nullopt, "null"); }

  bool boolean(bool truth) override { return value(std::nullopt, truth ? "true" : "false"); }

  bool number_integer(number_integer_t number) override {
    return value(std::nullopt, std::to_string(number));
  }

  bool number_unsigned(number_unsigned_t number) override {
    return value(std::nullopt, std::to_string(number));
  }

  bool number_float(number_float_t, const string_t& text) override {
    return value(std::nullopt, text);
  }

  bool string(string_t& text) override { return value(std::move(text), "a string"); }

  bool binary(binary_t&) override { return value(std::nullopt, "bytes"); }

  bool start_object(std::size_t) override {
    open(true);
    return true;
  }

  bool end_object() override {
    close();
    return true;
  }

  bool start_array(std::size_t) override {
    open(false);
    return true;
  }

  bool end_array() override {
    close();
    return true;
  }

  bool key(string_t& name) override {
    note(':', name);
    key_ = std::move(name);
    return true;
  }

 private:
  /// Where in the log the parser is; the names are those of the format.
  enum class Place { Outside, Jobs, Job, Attempts, Attempt, Details, Machine, Gpus, Skipped };

  Place place() const { return places_.empty() ? Place::Outside : places_.back(); }

  /// The place that an object or array opens, Skipped where the log has none.
  Place opened(bool object) {
    const auto in = [&](std::string_view name, bool wants_object) {
      return key_ == name && object == wants_object;
    };
    switch (place()) {
      case Place::Outside:
        if (!object) return Place::Jobs;
        break;
      case Place::Jobs:
        if (object) return Place::Job;
        break;
      case Place::Job:
        if (in("attempts", false)) return Place::Attempts;
        if (!is_known_key()) return Place::Skipped;
        break;
      case Place::Attempts:
        if (object) return Place::Attempt;
        break;
      case Place::Attempt:
        if (in("detail", false)) return Place::Details;
        if (!is_known_key()) return Place::Skipped;
        break;
      case Place::Details:
        if (object) return Place::Machine;
        break;
      case Place::Machine:
        if (in("gpus", false)) return Place::Gpus;
        if (key_ != "gpus") return Place::Skipped;
        break;
      case Place::Gpus:
        break;
      case Place::Skipped:
        return Place::Skipped;
    }
    wrong_shape(object ? "an object" : "an array");
    return Place::Skipped;
  }

  /// What the record holds, piece by piece: records that hold the same are duplicates.
  void note(char kind, std::string_view text) {
    content_.update(static_cast<std::uint64_t>(static_cast<unsigned char>(kind)));
    content_.update(static_cast<std::uint64_t>(text.size()));
    content_.update(text);
  }

  void open(bool object) {
    const Place next = opened(object);
    if (next == Place::Job) {
      job_ = RawJob{};
      job_.line = line_;
      content_ = Digester{};
    } else if (next == Place::Attempt) {
      job_.attempts.emplace_back();
    }
    places_.push_back(next);
    note(object ? '{' : '[', {});
  }

  void close() {
    const Place closed = place();
    places_.pop_back();
    note('}', {});
    if (closed != Place::Job) return;
    job_.content = content_.finish();
    builder_.add(job_);
  }

  /// A string, or anything else, described by `what`.
  bool value(std::optional<std::string> text, const std::string& what) {
    note(text ? '"' : '=', text ? *text : what);
    switch (place()) {
      case Place::Job:
      case Place::Attempt:
        keep(std::move(text), what);
        break;
      case Place::Gpus:
        ++job_.attempts.back().gpus;
        break;
      case Place::Machine:
        if (key_ == "gpus" && what != "null") wrong_shape(what);
        break;
      case Place::Skipped:
        break;
      case Place::Outside:
      case Place::Jobs:
      case Place::Attempts:
      case Place::Details:
        wrong_shape(what);
        break;
    }
    return true;
  }

  /// The field of the job or attempt that the present key names, if any.
  Located* field() {
    if (place() == Place::Attempt) {
      RawAttempt& attempt = job_.attempts.back();
      if (key_ == "start_time") return &attempt.start;
      if (key_ == "end_time") return &attempt.end;
      return nullptr;
    }
    if (key_ == "jobid") return &job_.id;
    if (key_ == "status") return &job_.status;
    if (key_ == "vc") return &job_.vc;
    if (key_ == "user") return &job_.user;
    if (key_ == "submitted_time") return &job_.submitted;
    return nullptr;
  }

  bool is_known_key() { return field() != nullptr || key_ == "attempts" || key_ == "detail"; }

  void keep(std::optional<std::string> text, const std::string& what) {
    const bool nothing = what == "null" || (text && *text == "None");
    Located* const to = field();
    if (to == nullptr) {
      // A null list is an empty one; any other key but the lists is not ours.
      if (is_known_key() && !nothing) wrong_shape(what);
    } else if (text && !nothing) {
      *to = {std::move(*text), line_};
    } else if (!nothing) {
      wrong_shape(what);
    }
  }

  void wrong_shape(const std::string& what) {
    constexpr std::string_view kNeeded[] = {"an array of jobs",                    // Outside
                                            "an object for each job",              // Jobs
                                            "a string, or for attempts an array",  // Job
                                            "an object for each attempt",          // Attempts
                                            "a string, or for detail an array",    // Attempt
                                            "an object for each machine",          // Details
                                            "an array of GPU names",               // Machine
                                            "a GPU name",                          // Gpus
                                            ""};
    const std::string subject =
        place() == Place::Outside || place() == Place::Jobs ? "job log" : subject_of(job_);
    errors_.add(line_,
                subject,
                "found " + what + (key_.empty() ? "" : " at the key " + quote_input(key_)) +
                    ", but " + std::string(kNeeded[static_cast<std::size_t>(place())]) +
                    " is needed; is this the file cluster_job_log?");
  }

  PhillyJobBuilder& builder_;
  RawJob job_;
  Digester content_;  ///< Of the present record.
  std::string key_;
  std::vector<Place> places_;
};

}  // namespace

Result<Trace> parse_philly_json(std::string_view text,
                                std::string_view file_name,
                                const TraceOptions& options) {
  TraceErrors errors(file_name);
  PhillyJobBuilder builder(options, errors, file_name);
  std::size_t line = 1;
  LogHandler handler(builder, errors, line);
  parse_json_lines(text, line, handler);
  if (!errors.empty()) return errors.take();
  return builder.finish();
}

bool looks_like_philly_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

}  // namespace orrery::sim
