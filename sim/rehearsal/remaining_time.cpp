#include "sim/rehearsal/remaining_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace orrery::sim {
namespace {

/// What nothing is known of.
constexpr Duration kUnknownRuns = Duration::seconds(3600);
/// Work that is never done at once.
constexpr Duration kLeast = Duration::milliseconds(1);
/// Fewer jobs say nothing about how right stated times are.
constexpr std::size_t kPartsLeast = 10;
/// Stated times that are right but for so much are taken as they are.
constexpr double kAsStated = 0.02;

/// How long it has gone on since its last report. A job that stood still in between and has the
/// same rate again has not told so.
Duration since_report(const JobRow& row, Instant now) {
  return row.holds ? now - std::max(row.progress.as_of, row.allocated_at) : Duration::zero();
}

/// How long the job has worked: by what it has told, else by the service that it had.
Duration time_worked(const JobRow& row, Instant now) {
  const ProgressView& progress = row.progress;
  if (progress.rate > 0) {
    return Duration::from_seconds(progress.done / progress.rate) + since_report(row, now);
  }
  const std::int32_t devices = row.holds ? row.devices_held : row.gang_devices();
  if (devices <= 0) return row.holds ? now - row.allocated_at : Duration::zero();
  return Duration{row.attained_device_us(now) * 1000 / devices};
}

bool states_time(const JobRow& row) {
  return row.estimate > Duration::zero() && !row.estimate.is_forever();
}

Duration scaled(Duration duration, double part) {
  return Duration::from_seconds(duration.in_seconds() * part);
}

}  // namespace

std::optional<Remaining> reported_remaining(const JobRow& row, Instant now) {
  const ProgressView& progress = row.progress;
  if (progress.remaining.is_forever() || progress.source == EstimateSource::None)
    return std::nullopt;
  const Duration since = progress.rate > 0 ? since_report(row, now) : Duration::zero();
  const RemainingKnown known = progress.source == EstimateSource::Oracle ? RemainingKnown::Oracle
                               : progress.source == EstimateSource::Declared
                                   ? RemainingKnown::Declared
                                   : RemainingKnown::Measured;
  return Remaining{std::max(kLeast, progress.remaining - since), known};
}

RunHistory::RunHistory(const State& state) {
  state.for_each_job([&](const JobState& job) {
    if (job.row.phase != JobPhase::Succeeded || job.started_at.is_never()) return;
    const Duration ran = job.finished_at - job.started_at;
    runs_.push_back(ran);
    // What a preemption or a recovery cost is no matter of what was stated.
    const JobRow& row = job.row;
    if (states_time(row) && row.restarts + row.reschedules + row.preemptions == 0)
      parts_.push_back(ran.in_seconds() / row.estimate.in_seconds());
  });
  std::ranges::sort(runs_);
  std::ranges::sort(parts_);
}

// One that has worked for longer than that is expected to take what was stated, as far as that is
// not over, too.
Duration RunHistory::stated(const JobRow& row, double part) const {
  const bool right = std::abs(part - 1) <= kAsStated;
  return right ? row.estimate : scaled(row.estimate, part);
}

Remaining RunHistory::remaining(const JobState& job, Instant now) const {
  if (const auto told = reported_remaining(job.row, now)) return *told;
  const Duration ran = time_worked(job.row, now);
  if (states_time(job.row)) {
    const bool corrected = parts_.size() >= kPartsLeast;
    Duration whole = corrected ? stated(job.row, parts_[parts_.size() / 2]) : job.row.estimate;
    if (whole <= ran) whole = job.row.estimate;
    return {std::max(kLeast, whole - ran), RemainingKnown::Declared};
  }
  if (!runs_.empty()) {
    // It has run for longer than the median: as long again as it has.
    const Duration median = runs_[runs_.size() / 2];
    return {median > ran ? median - ran : std::max(kLeast, ran), RemainingKnown::History};
  }
  return {std::max(kUnknownRuns, ran), RemainingKnown::Nothing};
}

Remaining RunHistory::drawn(const JobState& job, Instant now, Random& random) const {
  const Remaining likely = remaining(job, now);
  if (reported_remaining(job.row, now)) return likely;
  const Duration ran = time_worked(job.row, now);
  if (likely.known == RemainingKnown::Declared) {
    if (parts_.size() < kPartsLeast) return likely;
    const double over = ran.in_seconds() / job.row.estimate.in_seconds();
    const auto left = std::ranges::upper_bound(parts_, over);
    if (left == parts_.end()) return likely;
    const auto drawn = random.below(static_cast<std::uint64_t>(parts_.end() - left));
    const double part = left[static_cast<std::ptrdiff_t>(drawn)];
    return {std::max(kLeast, stated(job.row, part) - ran), likely.known};
  }
  if (likely.known == RemainingKnown::History) {
    const auto left = std::ranges::upper_bound(runs_, ran);
    if (left == runs_.end()) return likely;
    const auto drawn = random.below(static_cast<std::uint64_t>(runs_.end() - left));
    return {std::max(kLeast, left[static_cast<std::ptrdiff_t>(drawn)] - ran), likely.known};
  }
  return {std::max(kLeast, scaled(likely.left, random.exponential(1))), likely.known};
}

}  // namespace orrery::sim
