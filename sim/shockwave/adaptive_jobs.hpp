// Jobs that change their batch: how long each epoch takes, in truth and by the profile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/models/epoch_profile.hpp"
#include "scenarios/language/spec/work.hpp"
#include "sim/shockwave/trace.hpp"
#include "sim/traces/gavel_throughputs.hpp"

namespace orrery::sim {

/// One job with what it really does.
struct AdaptiveJob {
  AdaptiveSubmission submission;
  std::string profile;       ///< Its entry in `AdaptiveWorkload::profiles`.
  scenarios::WorkSpec work;  ///< Its unit is the epoch; a phase for each run of equal batches.
};

/// Jobs and profiles of a trace.
struct AdaptiveWorkload {
  std::vector<AdaptiveJob> jobs;  ///< In the order of the submissions.
  EpochProfiles profiles;
};

/// Times every epoch by `speeds` of `device_model`: in truth steps of the epoch / steps per second,
/// at the batches of `trained_batches`; the last epoch is as short as the trace's steps say. By the
/// profile (examples / batch) / steps per second, at `profiled_batches`, whole epochs.
/// Errors, with file and line: a batch that some epoch has and the table lacks; the model.
Result<AdaptiveWorkload> time_epochs(std::vector<AdaptiveSubmission> submissions,
                                     std::string_view file_name,
                                     const DeviceSpeeds& speeds,
                                     std::string_view device_model);

}  // namespace orrery::sim
