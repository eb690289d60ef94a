// A random scenario from a seed: swarm testing, in which each seed has only some kinds of things.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// When the faults of every storm end: nodes are back, links are whole, the store works.
inline constexpr Instant kStormCalmFrom{600'000'000'000};

/// The scenario of a seed: a small cluster, a few jobs of any kind, one of the `policies`, and
/// faults until `kStormCalmFrom`. Which kinds of faults there are at all, and how often, is drawn
/// first, so that rare combinations come up. Every job could finish when all is well, and has until
/// `Scenario::until` to do so, unless a limit of its own has ended it before.
scenarios::Scenario plan_storm(std::uint64_t seed,
                               std::span<const scenarios::PolicyChoice> policies);

/// The same with placers drawn from these, by their versioned names; at least one.
scenarios::Scenario plan_storm(std::uint64_t seed,
                               std::span<const scenarios::PolicyChoice> policies,
                               std::span<const std::string> placers);

/// The versioned names of all registered placers.
std::vector<std::string> placer_names();

/// `jitter` with timers and clocks so exact that no agent outlives its lease under `settings`.
scenarios::Jitter within_margin(scenarios::Jitter jitter, const Settings& settings);

/// Time from the last submission or the end of the faults, whichever is later, within which all
/// jobs must be over: what all their work takes one after the other, several times over.
Duration storm_patience(const scenarios::Scenario& scenario);

}  // namespace orrery::sim
