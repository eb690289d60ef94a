// A scenario in another measure of time: everything that takes time takes a part of it.
#pragma once

#include "scenarios/language/spec/scenario.hpp"

namespace orrery::cli {

/// When a scaled scenario begins: until then a real cluster comes up.
inline constexpr Instant kScenarioBegin = Instant::zero() + Duration::seconds(60);

/// How much faster than written a scenario runs, and what real machines are given on top.
struct TimeScale {
  double faster = 20;                           ///< At least 1: an hour takes 1/`faster` hours.
  Duration slack = Duration::milliseconds(800);  ///< Real time by which a limit that an expectation
                                                 ///< sets may be overrun.
};

/// `scenario` with all its times divided: of its settings, jobs, timing, faults, requests,
/// expectations and of its policy's parameters. Rates of work are multiplied, so that units of work
/// stay what they are. All instants are counted from `kScenarioBegin`. Limits of expectations have
/// the slack added.
scenarios::Scenario scaled(const scenarios::Scenario& scenario, const TimeScale& scale);

}  // namespace orrery::cli
