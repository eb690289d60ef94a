// A scenario in another measure of time: everything that takes time takes a part of it.
#pragma once

#include "scenarios/language/spec/scenario.hpp"

namespace orrery::cli {

/// When a scaled scenario begins: until then a real cluster comes up.
inline constexpr Instant kScenarioBegin = Instant::zero() + Duration::seconds(60);

/// Real time by which a limit that an expectation sets may be overrun.
inline constexpr Duration kSlack = Duration::milliseconds(800);

/// `scenario` with all its times divided by its `time_scale`: of its settings, jobs, timing,
/// faults, requests, expectations and of its policy's parameters. Rates of work are multiplied, so
/// that units of work stay what they are. All instants are counted from `kScenarioBegin`. Limits of
/// expectations have `kSlack` added.
scenarios::Scenario scaled(const scenarios::Scenario& scenario);

}  // namespace orrery::cli
