#include "sim/reports/job_fields.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>

#include "sim/results/time_text.hpp"

namespace orrery::sim {

std::string_view final_state_of(const JobOutcome& job) {
  if (!job.is_over()) return job.has_started() ? "RUNNING" : "SUBMITTED";
  if (job.phase == JobPhase::Succeeded) return "COMPLETED_SUCCESSFULLY";
  if (job.reason == Reason::StoppedByUser) return "COMPLETED_KILLED";
  if (job.reason == Reason::RunDeadline) return "COMPLETED_WALLTIME_REACHED";
  return job.has_started() ? "COMPLETED_FAILED" : "REJECTED";
}

void append_time_field(bool known, std::int64_t ns, std::string& out) {
  if (known) append_seconds_6(ns, out);
  out += ',';
}

void append_requested_time(const JobOutcome& job, std::string& out) {
  const bool stated = job.time_requested.ns > 0 && !job.time_requested.is_forever();
  append_time_field(true, stated ? job.time_requested.ns : Duration::seconds(-1).ns, out);
}

void append_stretch_field(Duration turnaround, Duration execution, std::string& out) {
  if (execution.ns > 0)
    append_fixed_6(static_cast<double>(turnaround.ns) / static_cast<double>(execution.ns), out);
  out += ',';
}

void append_integer(std::int64_t number, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_decimal(double number, std::string& out) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_fixed_6(double number, std::string& out) {
  char digits[400];  // Every finite double fits.
  const auto end =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, 6).ptr;
  out.append(digits, end);
}

std::int64_t thousandths_of(std::span<const DevicePart> parts) {
  std::int64_t sum = 0;
  for (std::size_t first = 0, last = 0; first < parts.size(); first = last) {
    std::uint64_t any = 0;
    std::uint64_t several = 0;  // Devices of which more than one part has something.
    for (; last < parts.size() && parts[last].node == parts[first].node; ++last) {
      several |= any & parts[last].devices;
      any |= parts[last].devices;
    }
    const std::span<const DevicePart> of_node = parts.subspan(first, last - first);
    for (const DevicePart& part : of_node)
      sum += part.thousandths * std::popcount(part.devices & ~several);
    for (; several != 0; several &= several - 1) {
      const std::uint64_t device = several & ~(several - 1);
      std::int64_t held = 0;
      for (const DevicePart& part : of_node)
        if ((part.devices & device) != 0) held += part.thousandths;
      sum += std::min<std::int64_t>(held, 1000);
    }
  }
  return sum;
}

}  // namespace orrery::sim
