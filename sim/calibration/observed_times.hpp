// The times that a journal tells of: one sample for each start, stop, change of membership,
// checkpoint and plan that it records.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"
#include "sim/rehearsal/recorded_run.hpp"

namespace orrery::sim {

/// What of a cluster is learned from its journals.
enum class TimeKind : std::uint8_t {
  Start,           ///< From the order to the last worker's readiness; nothing had been saved.
  Restart,         ///< The same of a job that goes on from what was saved.
  Stop,            ///< From the order to the end of the last worker that was asked.
  Rescale,         ///< Work that stood still while workers stayed through a change of membership.
  CheckpointCost,  ///< Work that stood still for one checkpoint.
  Planner,         ///< From the view that the policy saw to its plan.
};

/// How fast a job worked on devices of one model.
struct ObservedRate {
  std::string profile;  ///< Jobs of one profile do the same work.
  std::int32_t replicas = 0;
  std::string model;
  double rate = 0;  ///< Units per second.
};

/// The samples of one journal.
struct ObservedTimes {
  std::array<std::vector<Duration>, 6> samples;  ///< [TimeKind], in the journal's order.
  std::vector<Duration> checkpoint_gaps;         ///< Between two checkpoints that were reported.
  std::vector<ObservedRate> rates;               ///< One for each job, size and model.
  std::vector<double> lost_s;                    ///< Work that failures took, in seconds;
  std::vector<double> saved_after_s;             ///< see ObservedLosses.
  std::uint64_t starts_failed = 0;               ///< Of jobs whose workers did not come up.
  std::uint64_t stops_killed = 0;                ///< They took as long as they were given.
  std::uint64_t jobs = 0;
  std::uint64_t records = 0;
  Duration length;  ///< Of the journal.

  std::vector<Duration>& of(TimeKind kind) { return samples[static_cast<std::size_t>(kind)]; }

  const std::vector<Duration>& of(TimeKind kind) const {
    return samples[static_cast<std::size_t>(kind)];
  }

  /// Whether there is nothing to learn from.
  bool empty() const;
};

/// Real journals tell instants with what messages took; differences shorter than `noise` are none.
ObservedTimes observed_times(const RecordedRun& run, Duration noise);

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::TimeKind> {
  static constexpr std::array kNames{
      "start", "restart", "stop", "rescale", "checkpoint_cost", "planner"};
};

}  // namespace orrery
