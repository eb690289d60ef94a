#include "sim/import/batsim_trace.hpp"

#include <optional>
#include <utility>

#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

/// Sequences inside sequences that are followed; deeper ones are taken as of unknown length.
constexpr int kNestingMax = 16;

/// Seconds of a profile that no platform changes; nothing for any other.
std::optional<double> fixed_seconds(const BatsimFile& file,
                                    const BatsimProfile& profile,
                                    int nesting) {
  if (const auto* delay = std::get_if<BatsimDelay>(&profile.what)) return delay->seconds;
  const auto* sequence = std::get_if<BatsimSequence>(&profile.what);
  if (sequence == nullptr || nesting == kNestingMax) return std::nullopt;
  double seconds = 0;
  for (const std::string& part : sequence->parts) {
    const BatsimProfile* named = file.profile(part);
    const auto more = named == nullptr ? std::nullopt : fixed_seconds(file, *named, nesting + 1);
    if (!more) return std::nullopt;
    seconds += *more;
  }
  return seconds * static_cast<double>(sequence->repeat);
}

}  // namespace

Result<Trace> batsim_trace(const BatsimFile& file, const TraceOptions& options) {
  TraceBuilder builder(file.file, "batsim", options);
  for (const BatsimJob& from : file.jobs) {
    if (!builder.row(from.id)) continue;
    const auto seconds = fixed_seconds(file, file.profiles[from.profile], 0);
    if (!seconds || *seconds > kTraceDurationMax.in_seconds() || from.hosts > kTraceGpusMax) {
      builder.drop(TraceReason::NoRunTime);
      continue;
    }
    TraceJob job;
    job.name = from.id;
    job.submit = Instant::zero() + Duration::from_seconds(from.submit_s);
    job.duration = Duration::from_seconds(*seconds);
    job.gpus = from.hosts;
    if (from.walltime_s) job.estimate = Duration::from_seconds(*from.walltime_s);
    builder.add(std::move(job));
  }
  return builder.finish();
}

}  // namespace orrery::sim
