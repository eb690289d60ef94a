#include "sim/traces/trace_report.hpp"

namespace orrery::sim {
namespace {

/// Calls visit(reason, action, count) for every count above zero, by reason, then action.
template <class Visit>
void for_each_count(const TraceReport& report, Visit visit) {
  for (std::size_t r = 0; r < kTraceReasons; ++r) {
    for (std::size_t a = 0; a < kTraceActions; ++a) {
      const auto reason = static_cast<TraceReason>(r);
      const auto action = static_cast<TraceAction>(a);
      const std::uint64_t count = report.counted(reason, action);
      if (count > 0) visit(reason, action, count);
    }
  }
}

}  // namespace

std::string_view to_string(TraceReason reason) {
  switch (reason) {
    case TraceReason::ExactDuplicate:
      return "exact duplicate";
    case TraceReason::AmbiguousHour:
      return "ambiguous hour";
    case TraceReason::SkippedHour:
      return "skipped hour";
    case TraceReason::NeverStarted:
      return "never started";
    case TraceReason::Censored:
      return "censored";
    case TraceReason::SeveralAttempts:
      return "several attempts";
    case TraceReason::SizesDiffer:
      return "sizes differ";
    case TraceReason::ZeroGpus:
      return "zero GPUs";
    case TraceReason::ZeroDuration:
      return "zero duration";
    case TraceReason::NameUsedBefore:
      return "name used before";
    case TraceReason::NoSubmitTime:
      return "no submission time";
    case TraceReason::NoRunTime:
      return "no run time";
    case TraceReason::NoSize:
      return "no size";
    case TraceReason::OtherSizeField:
      return "size from the other field";
    case TraceReason::EndsBeforeStart:
      return "ends before its start";
    case TraceReason::TimesDisagree:
      return "duration differs from its times";
    case TraceReason::NoThroughput:
      return "no throughput known";
    case TraceReason::SeveralTasks:
      return "several tasks";
    case TraceReason::NoTasks:
      return "no tasks";
    case TraceReason::NoJob:
      return "no job";
    case TraceReason::TooLong:
      return "longer than 100 years";
    case TraceReason::PartOfJob:
      return "part of a job";
  }
  return "";
}

std::string_view to_string(TraceAction action) {
  switch (action) {
    case TraceAction::Kept:
      return "kept";
    case TraceAction::Altered:
      return "altered";
    case TraceAction::Dropped:
      return "dropped";
  }
  return "";
}

std::uint64_t TraceReport::dropped() const {
  std::uint64_t total = 0;
  for (std::size_t r = 0; r < kTraceReasons; ++r) {
    total += counted(static_cast<TraceReason>(r), TraceAction::Dropped);
  }
  return total;
}

std::string TraceReport::text() const {
  std::string out = file + " (" + format + "): " + std::to_string(rows) + " rows, " +
                    std::to_string(jobs) + " jobs, " + std::to_string(dropped()) + " dropped\n";
  for_each_count(*this, [&](TraceReason reason, TraceAction action, std::uint64_t count) {
    out += "  " + std::string(to_string(reason)) + ", " + std::string(to_string(action)) + ": " +
           std::to_string(count) + "\n";
  });
  return out;
}

void TraceReport::write(JsonText& json) const {
  json.begin_object().field("file", file).field("format", format);
  json.field("rows", rows).field("jobs", jobs).field("dropped", dropped());
  json.field("first_submit_unix_s", first_submit.ns / 1'000'000'000);
  json.field("last_submit_unix_s", last_submit.ns / 1'000'000'000);
  json.key("notes").begin_array();
  for_each_count(*this, [&](TraceReason reason, TraceAction action, std::uint64_t count) {
    json.begin_object().field("reason", to_string(reason));
    json.field("action", to_string(action)).field("rows", count).end_object();
  });
  json.end_array().end_object();
}

}  // namespace orrery::sim
