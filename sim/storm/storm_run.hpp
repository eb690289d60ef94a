// One storm: a scenario through the real core, driver, journal and agents, under the checker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/policy.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/storm/decisions.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// How a storm is run.
struct StormOptions {
  std::function<std::unique_ptr<Policy>()> policy;  ///< A fresh one for each leader.
  bool records_decisions = false;                   ///< `StormReport::decisions` is filled.
};

/// What came of it.
struct StormReport {
  std::vector<Violation> violations;  ///< The first ones; empty: none.
  std::uint64_t events = 0;           ///< Inputs of controllers, agents and ears.
  std::uint64_t records = 0;          ///< Of those, stepped by controllers.
  std::uint64_t leaders = 0;          ///< That have led.
  std::uint64_t cycles = 0;           ///< Plans that a period brought about.
  std::uint64_t plans_lost = 0;       ///< That policies owed.
  Duration simulated;
  bool all_over = false;        ///< Every job had ended.
  DecisionDigests decisions{};  ///< Only where they are asked for.
};

/// Runs `scenario` until its jobs are over and its faults have ended, at most until
/// `Scenario::until`, or to the first violation. A broken invariant of the core is a violation like
/// any other; what the run had allocated is lost then.
StormReport run_storm(const scenarios::Scenario& scenario, const StormOptions& options);

}  // namespace orrery::sim
