#include "sim/traces/trace.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

std::string_view to_string(TraceStatus status) {
  switch (status) {
    case TraceStatus::Unknown:
      return "Unknown";
    case TraceStatus::Pass:
      return "Pass";
    case TraceStatus::Killed:
      return "Killed";
    case TraceStatus::Failed:
      return "Failed";
  }
  return "";
}

void TraceErrors::add(std::size_t line, std::string subject, std::string message) {
  if (errors_.size() == kTraceErrorsMax) {
    ++left_out_;
    return;
  }
  errors_.push_back({.file = file_,
                     .line = static_cast<int>(line),
                     .subject = std::move(subject),
                     .message = std::move(message)});
}

void TraceErrors::add_missing_column(std::string_view header,
                                     std::string_view column,
                                     std::string_view names) {
  add(1,
      "header",
      "found " + quote_input(header) + ", but a column " + std::string(column) +
          " is needed; begin the file with " + std::string(names));
}

void TraceErrors::add_column_twice(std::string_view column) {
  add(1,
      "header",
      "names the column " + std::string(column) +
          " twice, and which of them counts is not known; rename or delete one");
}

void TraceErrors::add_wrong_width(std::size_t line,
                                  std::size_t fields,
                                  std::string_view row,
                                  std::string_view need) {
  add(line,
      "row",
      "found " + std::to_string(fields) + " fields in " + quote_input(row) + ", but " +
          std::string(need) + "; complete or delete the line");
}

Errors TraceErrors::take() {
  if (left_out_ > 0) {
    errors_.push_back({.file = file_,
                       .message = std::to_string(left_out_) +
                                  " more errors are not shown; mend those above first"});
  }
  return std::move(errors_);
}

std::string quote_input(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte > 0x7e ? '?' : c;
  }
  if (text.size() > kLongest) out += "...";
  return out + "'";
}

Trace finish_trace(std::vector<TraceJob> jobs, TraceReport report) {
  std::stable_sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) {
    return a.submit < b.submit;
  });
  Trace trace;
  trace.report = std::move(report);
  trace.report.jobs = jobs.size();
  if (!jobs.empty()) {
    trace.origin = trace.report.first_submit = jobs.front().submit;
    trace.report.last_submit = jobs.back().submit;
  }
  for (TraceJob& job : jobs) {
    job.submit = Instant::zero() + (job.submit - trace.origin);
    if (job.gpu_milli == 0) job.gpu_milli = std::int64_t{1000} * job.gpus;
  }
  trace.jobs = std::move(jobs);
  return trace;
}

}  // namespace orrery::sim
