// What a workload knows of how its jobs train, for policies that may ask.
#pragma once

#include <memory>

#include "core/models/epoch_profile.hpp"
#include "core/models/pollux_application.hpp"

namespace orrery {

/// Models by `JobSpec::profile`, shared and read-only; null: the workload has none of that kind.
struct JobModels {
  std::shared_ptr<const PolluxProfiles> profiles;  ///< Measured applications.
  std::shared_ptr<const EpochProfiles> epochs;     ///< Times and batches epoch by epoch.
};

}  // namespace orrery
