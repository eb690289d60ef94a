// When jobs will start and end: a copy of a controller's state, run on in world `model`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "core/plan/policy.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

using orrery::RemainingKnown;

/// What is foretold of one job.
struct JobForecast {
  JobId id;
  std::string name;   ///< Full.
  bool runs = false;  ///< It has started, and holds devices.
  RemainingKnown known = RemainingKnown::Nothing;
  Duration remaining;                ///< At its usual size.
  Instant start = Instant::never();  ///< When its workers are told to start; never: not within
                                     ///< the run.
  Instant end = Instant::never();    ///< Likewise.
  bool succeeds = false;
  std::vector<std::string> nodes;  ///< Where it starts; numbers where nodes have no names.
  std::string waits_for;           ///< In words, at the fork; empty: it runs.
  bool never_fits = false;         ///< On the declared nodes.
};

/// What is foretold of a state.
struct Forecast {
  Instant now;                    ///< Of the fork, on the controller's clock.
  std::vector<JobForecast> jobs;  ///< That are not over, by id; the one that was asked for last.
  std::uint64_t records = 0;      ///< That the run took.
  bool cut_short = false;         ///< It took as many as it may.
  std::string refused;            ///< Why the job that was asked for would be refused; else empty.
};

/// What is drawn, rather than taken as most likely or left out.
struct ForecastDraws {
  std::uint64_t seed = 0;
  bool durations = false;  ///< How long jobs still run.
  bool arrivals = false;   ///< Jobs that arrive, as those of the state did.
};

struct ForecastOptions {
  std::shared_ptr<const JobSpec> submitted;  ///< At the fork, beside what there is; may be null.
  JobId without;                             ///< This job is stopped at the fork; none: none is.
  std::uint64_t records_max = 2'000'000;     ///< The run ends after so many records.
  std::function<bool()> stop = nullptr;      ///< Asked now and then; true ends the run.
  std::optional<ForecastDraws> draws = {};   ///< None: nothing.
};

/// The scenario in which a state goes on: its nodes, with those that are silent down for good, its
/// policy and the queues in front of it.
scenarios::Scenario forked_scenario(const State& state);

/// Runs the state on until all jobs are over. `policy` is fresh, and is the one that the state's
/// settings name; nothing arrives but `options.submitted` and what is drawn. Who needs `from` no
/// more moves it here: a copy of a large state costs a good part of what the run does.
Result<Forecast> forecast(Controller from,
                          const scenarios::Scenario& scenario,
                          Policy& policy,
                          const ForecastOptions& options);

}  // namespace orrery::sim
