// A recorded run once more, under another policy, cluster or parameter: in world `model`, from what
// the journal tells.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/rehearsal/job_truth.hpp"
#include "sim/rehearsal/recorded_run.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// A recorded run that can be run under others.
struct RecordedBasis {
  RecordedRun recorded;
  RunTruth truth;
};

/// The scenario that a what-if runs: cluster, settings and costs as recorded, with what `overrides`
/// change. Its jobs are the recording's, and not in it. `file` is what messages call the journal;
/// `placer` is the placer's name without its version, empty: that of the policy.
/// Errors: a path that is no key of a what-if or of the language, a value that is out of range.
Result<scenarios::Scenario> what_if_scenario(const RecordedBasis& rehearsal,
                                             const std::string& file,
                                             const std::string& placer,
                                             const std::vector<scenarios::Override>& overrides);

/// The pause of a rescale that `overrides` set in `scenario`, for truth_of; nothing: none is set.
std::optional<Duration> rescale_set_in(const scenarios::Scenario& scenario,
                                       const std::vector<scenarios::Override>& overrides);

/// Drops what `overrides` say, so that it is assumed no longer.
void forget_what_is_set(const std::vector<scenarios::Override>& overrides,
                        std::vector<Assumption>& assumed);

/// What came of a what-if.
struct WhatIfRun {
  RunReport report;
  std::vector<JobId> jobs;      ///< [submission]: which job it became; none where it was refused,
  std::vector<bool> submitted;  ///< or the what-if ended before: false.
  bool all_over = false;        ///< Every job came to its end.
};

/// Runs it once. The policy must be fresh. Errors: as run_model.
Result<WhatIfRun> run_what_if(const RecordedBasis& rehearsal,
                              const scenarios::Scenario& scenario,
                              Policy& policy,
                              const RunOptions& options);

/// One job, recorded and in a what-if.
struct JobDifference {
  std::string name;
  WorkKnown known = WorkKnown::Observed;
  bool sizes_assumed = false;
  const JobOutcome* recorded = nullptr;  ///< Null: it was refused.
  const JobOutcome* now = nullptr;       ///< Null: it was refused,
  bool submitted = true;                 ///< or the what-if ended before its submission: false.
};

/// Job by job, in the order of submission. Both live as long as the result.
std::vector<JobDifference> differences(const RecordedBasis& rehearsal, const WhatIfRun& run);

}  // namespace orrery::sim
