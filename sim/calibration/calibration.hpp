// What starts, stops, changes and checkpoints of a cluster take, fitted to what its journals tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/calibration/observed_times.hpp"

namespace orrery::sim {

/// How well a time that was fitted to some samples foretells others.
struct HeldOut {
  std::uint64_t samples = 0;
  double error_p50 = 0;  ///< Median of |sample - median| / median.
  double error_p90 = 0;
  double inside = 0;  ///< Part of the samples between the quantiles 0.1 and 0.9, 0 to 1.
};

/// One time as it is used, and where it comes from.
struct FittedTime {
  TimeKind kind = TimeKind::Start;
  std::uint64_t count = 0;       ///< Samples, 1 at least.
  scenarios::TimeSpread spread;  ///< Eleven quantiles; empty where all samples are the same.
  Duration shortest;             ///< Of all samples,
  Duration p10;                  ///< their quantiles,
  Duration p50;
  Duration p90;
  Duration longest;
  std::optional<HeldOut> held_out;  ///< Nothing: there are too few samples to hold some out.
};

/// How fast a model of device is, against another.
struct FittedSpeed {
  std::string model;
  double speed = 1;  ///< Work per second over that of the reference, whose own is 1.
  std::uint64_t count =
      0;             ///< Profiles and sizes that were seen on both; of the reference: of all.
  double least = 1;  ///< The ratios of single ones.
  double most = 1;
};

/// A cluster's times as the model reads them.
struct Calibration {
  scenarios::Timing timing;
  Duration planner_latency;
  std::vector<FittedTime> times;     ///< Of the kinds that were seen, in the order of the enum.
  std::vector<FittedSpeed> speeds;   ///< The reference first; empty: nothing ran on two models.
  std::vector<std::string> remarks;  ///< Sentences: what was not seen, or not used.
  std::uint64_t journals = 0;
  std::uint64_t jobs = 0;
  std::uint64_t losses = 0;  ///< Failures that took work, which tell of checkpoints.
  Duration length;           ///< Of all journals together.

  const FittedTime* find(TimeKind kind) const;
};

/// Fits every time to all samples. What is held out: of several journals each in turn, of one every
/// second sample. `noise` as in observed_times.
Calibration fit(const std::vector<ObservedTimes>& journals, Duration noise);

/// The time between two checkpoints that explains what was saved and lost, zero where nothing was
/// lost: the longest one whose multiples are all that was saved, within `noise`, and that no loss
/// exceeds.
Duration checkpoint_interval_of(const std::vector<double>& lost_s,
                                const std::vector<double>& saved_after_s,
                                Duration noise);

/// A calibration file: what the key `calibration` of a scenario names. `source`: where it comes
/// from, for people.
std::string calibration_yaml(const Calibration& calibration, const std::string& source);

}  // namespace orrery::sim
