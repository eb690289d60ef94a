#include "sim/import/batsim_trace.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

/// Sequences inside sequences that are followed; deeper ones are taken as of unknown length.
constexpr int kNestingMax = 16;

/// Seconds of the profiles that no platform changes; nothing for the others.
class FixedSeconds {
 public:
  explicit FixedSeconds(const BatsimFile& file) : seconds_(file.profiles.size()) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < file.profiles.size(); ++i) {
      const BatsimProfile& profile = file.profiles[i];
      if (const auto* delay = std::get_if<BatsimDelay>(&profile.what))
        seconds_[i] = delay->seconds;
      else if (std::holds_alternative<BatsimSequence>(profile.what))
        open.push_back(i);
    }
    // Level by level, each sequence once: followed from the top, what holds many of what holds many
    // would be walked without end.
    for (int nesting = 0; nesting < kNestingMax && !open.empty(); ++nesting) {
      std::vector<std::pair<std::uint32_t, double>> known;
      std::vector<std::uint32_t> rest;
      for (const std::uint32_t i : open) {
        if (const auto seconds = sum_of(std::get<BatsimSequence>(file.profiles[i].what)))
          known.emplace_back(i, *seconds);
        else
          rest.push_back(i);
      }
      if (known.empty()) return;
      for (const auto& [i, seconds] : known) seconds_[i] = seconds;
      open = std::move(rest);
    }
  }

  std::optional<double> of(std::uint32_t profile) const { return seconds_[profile]; }

 private:
  std::optional<double> sum_of(const BatsimSequence& sequence) const {
    double seconds = 0;
    for (const std::uint32_t part : sequence.parts) {
      if (!seconds_[part]) return std::nullopt;
      seconds += *seconds_[part];
    }
    return seconds * static_cast<double>(sequence.repeat);
  }

  std::vector<std::optional<double>> seconds_;
};

}  // namespace

Result<Trace> batsim_trace(const BatsimFile& file, const TraceOptions& options) {
  TraceBuilder builder(file.file, "batsim", options);
  const FixedSeconds fixed(file);
  for (const BatsimJob& from : file.jobs) {
    if (!builder.row(from.id)) continue;
    const auto seconds = fixed.of(from.profile);
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
