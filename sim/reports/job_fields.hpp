// Fields about jobs as jobs.csv, evalys.csv and segments.csv write them.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "sim/reports/csv_text.hpp"
#include "sim/reports/timeline_rows.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// How a job ended or stands, in Batsim's words; docs/results.md lists them.
std::string_view final_state_of(const JobOutcome& job);

/// A time field with its comma; empty where the time is not known.
void append_time_field(bool known, std::int64_t ns, std::string& out);

/// The stated run time in seconds with its comma; -1 where none is stated.
void append_requested_time(const JobOutcome& job, std::string& out);

/// Turnaround / execution with six decimals and a comma; empty where execution takes no time.
void append_stretch_field(Duration turnaround, Duration execution, std::string& out);

void append_integer(std::int64_t number, std::string& out);

/// With as few digits as tell it from its neighbours.
void append_decimal(double number, std::string& out);

/// With six decimals.
void append_fixed_6(double number, std::string& out);

/// Devices of all parts of one job in thousandths; shares count their part. A device on which roles
/// take turns counts once. Parts of a node stand together.
std::int64_t thousandths_of(std::span<const DevicePart> parts);

/// Writes a header, then calls `append(id, text)` for every job in the order of submission (JobId),
/// and hands the text on in large pieces.
template <class Append>
void write_for_each_job(std::ostream& out,
                        std::string_view header,
                        const JobTable& jobs,
                        Append append) {
  std::string text(header);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobId id(static_cast<std::uint32_t>(i));
    if (!jobs.contains(id)) continue;
    append(id, text);
    if (text.size() < kCsvFlushBytes) continue;
    out << text;
    text.clear();
  }
  out << text;
}

}  // namespace orrery::sim
