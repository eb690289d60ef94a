#include "sim/traces/lanl_failures.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "sim/traces/fields.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {
namespace {

/// Columns that the reader knows, and their names in the header; the causes in LanlCause's order.
enum Column : std::size_t {
  kSystem,
  kNodes,
  kNode,
  kStarted,
  kFixed,
  kDownTime,
  kFirstCause,
  kColumns = kFirstCause + 6,
};

constexpr std::array<std::string_view, kColumns> kNames{"System",
                                                        "nodes",
                                                        "nodenumz",
                                                        "Prob Started",
                                                        "Prob Fixed",
                                                        "Down Time",
                                                        "Facilities",
                                                        "Hardware",
                                                        "Human Error",
                                                        "Network",
                                                        "Undetermined",
                                                        "Software"};

constexpr std::int64_t kDownTimeMaxMin = 10'000'000;  // 19 years.

/// The fields of one line; a field in quotes may hold commas, and "" for a quote.
void split(std::string_view line, std::vector<std::string>& fields) {
  fields.assign(1, {});
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
}

/// "6/21/2005 9:54", as seconds since the Unix epoch of the same wall clock.
std::optional<std::int64_t> wall_seconds(std::string_view text) {
  const std::size_t month_end = text.find('/');
  const std::size_t day_end = text.find('/', month_end + 1);
  const std::size_t year_end = text.find(' ', day_end + 1);
  const std::size_t hour_end = text.find(':', year_end + 1);
  if (month_end == text.npos || day_end == text.npos || year_end == text.npos ||
      hour_end == text.npos)
    return std::nullopt;
  const auto month = whole_number_in(text.substr(0, month_end));
  const auto day = whole_number_in(text.substr(month_end + 1, day_end - month_end - 1));
  const auto year = whole_number_in(text.substr(day_end + 1, year_end - day_end - 1));
  const auto hour = whole_number_in(text.substr(year_end + 1, hour_end - year_end - 1));
  const auto minute = whole_number_in(text.substr(hour_end + 1));
  if (!month || !day || !year || !hour || !minute) return std::nullopt;
  if (*month < 1 || *month > 12 || *day < 1 || *day > 31 || *year < 1990 || *year > 2100 ||
      *hour < 0 || *hour > 23 || *minute < 0 || *minute > 59)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86'400 + *hour * 3600 + *minute * 60;
}

class LanlReader {
 public:
  explicit LanlReader(std::string_view file) : errors_(file) { records_.file = file; }

  Result<LanlRecords> read(std::string_view text) {
    if (read_header(take_line(text)))
      for (line_ = 2; !text.empty(); ++line_) read_row(take_line(text));
    if (!errors_.empty()) return errors_.take();
    return std::move(records_);
  }

 private:
  bool read_header(std::string_view line) {
    split(line, fields_);
    width_ = fields_.size();
    for (std::size_t column = 0; column < kColumns; ++column) {
      const auto is_named = [&](const std::string& name) {
        return trimmed(name) == kNames[column];
      };
      const auto found = std::find_if(fields_.begin(), fields_.end(), is_named);
      place_[column] = static_cast<std::size_t>(found - fields_.begin());
      if (std::count_if(fields_.begin(), fields_.end(), is_named) > 1)
        errors_.add_column_twice(kNames[column]);
      if (found == fields_.end())
        errors_.add_missing_column(line, kNames[column], "the names of LA-UR-05-7318's columns");
    }
    return errors_.empty();
  }

  std::string_view field(std::size_t column) const { return trimmed(fields_[place_[column]]); }

  void read_row(std::string_view line) {
    if (trimmed(line).empty()) return;
    split(line, fields_);
    if (fields_.size() != width_)
      return errors_.add_wrong_width(
          line_, fields_.size(), line, "the header names " + std::to_string(width_));
    LanlFailure failure;
    const bool sound = read_number(kSystem, 1, 100, failure.system) && read_node(failure) &&
                       read_times(failure) && read_cause(failure);
    if (sound) records_.failures.push_back(std::move(failure));
  }

  bool read_number(Column column, std::int64_t low, std::int64_t high, std::int32_t& to) {
    const auto value = whole_number_in(field(column));
    if (value && *value >= low && *value <= high) {
      to = static_cast<std::int32_t>(*value);
      return true;
    }
    errors_.add(line_,
                std::string(kNames[column]),
                "found " + quote_input(field(column)) + ", but a whole number from " +
                    std::to_string(low) + " to " + std::to_string(high) +
                    " is needed; correct or delete the line");
    return false;
  }

  /// Either both fields of the node or none.
  bool read_node(LanlFailure& failure) {
    if (field(kNodes).empty() && field(kNode).empty()) {
      note(LanlOddity::NoNode);
      return true;
    }
    if (!read_number(kNodes, 1, 1'000'000, failure.nodes) ||
        !read_number(kNode, 0, 999'999, failure.node))
      return false;
    if (failure.node >= failure.nodes) note(LanlOddity::NodeBeyond);
    return true;
  }

  std::optional<std::int64_t> read_time(Column column) {
    const auto time = wall_seconds(field(column));
    if (!time)
      errors_.add(
          line_,
          std::string(kNames[column]),
          "found " + quote_input(field(column)) +
              ", but a date and time of the calendar is needed; write it as 6/21/2005 9:54");
    return time;
  }

  bool read_times(LanlFailure& failure) {
    const auto started = read_time(kStarted);
    const auto fixed = read_time(kFixed);
    if (!started || !fixed) return false;
    if (*fixed < *started) {
      errors_.add(line_,
                  "Prob Fixed",
                  "found " + quote_input(field(kFixed)) + ", before its start " +
                      quote_input(field(kStarted)) + ", a later time is needed; exchange them");
      return false;
    }
    std::int32_t minutes = 0;
    if (!read_number(kDownTime, 0, kDownTimeMaxMin, minutes)) return false;
    const std::int64_t seconds = std::int64_t{minutes} * 60;
    if (seconds == 0) note(LanlOddity::ZeroDownTime);
    if (std::abs(*fixed - *started - seconds) > 60) note(LanlOddity::TimesDisagree);
    failure.started = Instant::zero() + Duration::seconds(*started);
    failure.down = Duration::seconds(seconds);
    return true;
  }

  bool read_cause(LanlFailure& failure) {
    for (std::size_t cause = 0; cause + 1 < kLanlCauses; ++cause) {
      const std::string_view detail = field(kFirstCause + cause);
      if (detail.empty()) continue;
      if (failure.cause != LanlCause::None) {
        errors_.add(line_,
                    std::string(kNames[kFirstCause + cause]),
                    "found " + quote_input(detail) + " beside " + quote_input(failure.detail) +
                        ", but one cause at most is needed; keep one");
        return false;
      }
      failure.cause = static_cast<LanlCause>(cause);
      failure.detail = detail;
    }
    if (failure.cause == LanlCause::None) note(LanlOddity::NoCause);
    return true;
  }

  void note(LanlOddity oddity) { ++records_.odd[static_cast<std::size_t>(oddity)]; }

  TraceErrors errors_;
  LanlRecords records_;
  std::array<std::size_t, kColumns> place_{};
  std::size_t width_ = 0;
  std::size_t line_ = 1;
  std::vector<std::string> fields_;
};

std::string minutes(Duration time) { return std::to_string(time.ns / 60'000'000'000) + " min"; }

std::string day(Instant at) {
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(at.ns)))};
  const auto two = [](unsigned value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  return std::to_string(static_cast<int>(date.year())) + "-" +
         two(static_cast<unsigned>(date.month())) + "-" + two(static_cast<unsigned>(date.day()));
}

std::string row(std::string label, std::uint64_t count) {
  label.resize(std::max<std::size_t>(label.size(), 32), ' ');
  std::string number = std::to_string(count);
  number.insert(0, 8 - std::min<std::size_t>(number.size(), 8), ' ');
  return "  " + label + number + "\n";
}

}  // namespace

Result<LanlRecords> parse_lanl_failures(std::string_view text, std::string_view file_name) {
  return LanlReader(file_name).read(text);
}

bool looks_like_lanl(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  return trimmed(header).starts_with("System,") && header.find("Prob Started") != header.npos;
}

LanlSummary summarise(const LanlRecords& records) {
  LanlSummary summary;
  summary.records = records.failures.size();
  if (records.failures.empty()) return summary;
  std::vector<Duration> down;
  double sum_s = 0;
  summary.first = summary.last = records.failures.front().started;
  for (const LanlFailure& failure : records.failures) {
    ++summary.by_cause[static_cast<std::size_t>(failure.cause)];
    ++summary.by_system[failure.system];
    if (failure.cause == LanlCause::Hardware) ++summary.hardware[failure.detail];
    summary.first = std::min(summary.first, failure.started);
    summary.last = std::max(summary.last, failure.started);
    down.push_back(failure.down);
    sum_s += failure.down.in_seconds();
  }
  std::sort(down.begin(), down.end());
  summary.median = down[down.size() / 2];
  summary.p99 = down[down.size() * 99 / 100];
  summary.longest = down.back();
  summary.mean = Duration::from_seconds(sum_s / static_cast<double>(down.size()));
  return summary;
}

std::string LanlSummary::text() const {
  std::string out = std::to_string(records) + " failures";
  if (records > 0) out += " from " + day(first) + " to " + day(last);
  out += "\ndown times: mean " + minutes(mean) + ", median " + minutes(median) + ", 99% " +
         minutes(p99) + ", longest " + minutes(longest) + "\nby cause\n";
  for (std::size_t cause = 0; cause < kLanlCauses; ++cause)
    out += row(std::string(orrery::to_string(static_cast<LanlCause>(cause))), by_cause[cause]);
  out += "by system\n";
  for (const auto& [system, count] : by_system) out += row(std::to_string(system), count);
  return out;
}

void LanlSummary::write(JsonText& json) const {
  json.begin_object().field("records", records);
  json.field("first", day(first)).field("last", day(last));
  json.field("down_avg_s", mean.in_seconds()).field("down_p50_s", median.in_seconds());
  json.field("down_p99_s", p99.in_seconds()).field("down_max_s", longest.in_seconds());
  json.key("by_cause").begin_object();
  for (std::size_t cause = 0; cause < kLanlCauses; ++cause)
    json.field(orrery::to_string(static_cast<LanlCause>(cause)), by_cause[cause]);
  json.end_object().key("by_system").begin_object();
  for (const auto& [system, count] : by_system) json.field(std::to_string(system), count);
  json.end_object().key("hardware").begin_object();
  for (const auto& [part, count] : hardware) json.field(part, count);
  json.end_object().end_object();
}

std::string oddities_text(const LanlRecords& records) {
  std::string out;
  for (std::size_t oddity = 0; oddity < kLanlOddities; ++oddity)
    if (records.odd[oddity] > 0)
      out +=
          row(std::string(orrery::to_string(static_cast<LanlOddity>(oddity))), records.odd[oddity]);
  return out.empty() ? out : "kept, but odd\n" + out;
}

}  // namespace orrery::sim
