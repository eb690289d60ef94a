// Journals of simulated runs that are run again.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/rehearsal/what_if.hpp"
#include "tests/sim/rehearsal/model_runs.hpp"

namespace orrery::sim {

/// What the journal tells.
inline RecordedBasis rehearsal_of(StateStore& store) {
  auto recorded = read_recorded_run(store, "recorded", {});
  EXPECT_TRUE(recorded) << recorded.errors().front().text();
  RecordedBasis out{std::move(*recorded), {}};
  out.truth = truth_of(out.recorded);
  return out;
}

/// It once more, with what `overrides` change.
inline WhatIfRun what_if(const RecordedBasis& rehearsal,
                         const std::vector<scenarios::Override>& overrides) {
  const auto scenario = what_if_scenario(rehearsal, "recorded", "", overrides);
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  const auto policy = policy_of(*scenario);
  auto run = run_what_if(rehearsal, *scenario, *policy, {});
  EXPECT_TRUE(run);
  return std::move(*run);
}

/// Jobs that end at another instant than recorded, in words.
inline std::string changed(const RecordedBasis& rehearsal, const WhatIfRun& run) {
  std::string out;
  for (const JobDifference& job : differences(rehearsal, run)) {
    if (job.recorded == nullptr || job.recorded->finished.is_never()) continue;
    if (job.now != nullptr && job.now->finished == job.recorded->finished &&
        job.now->started == job.recorded->started && job.now->restarts == job.recorded->restarts)
      continue;
    out += job.name + " ended at " + std::to_string(job.recorded->finished.ns) + ", now at " +
           (job.now == nullptr ? "never" : std::to_string(job.now->finished.ns)) + "\n";
  }
  return out;
}

}  // namespace orrery::sim
