// What a workload knows of how its jobs train, for policies that may ask.
#pragma once

#include <memory>
#include <string>

#include "core/models/device_profiles.hpp"
#include "core/models/device_speeds.hpp"
#include "core/models/epoch_profile.hpp"
#include "core/models/pollux_application.hpp"

namespace orrery {

/// Models by `JobSpec::profile`, shared and read-only; null: the workload has none of that kind.
struct JobModels {
  std::shared_ptr<const PolluxProfiles> profiles;  ///< Measured applications.
  /// The same on each model of device; `profiles` are then those of one of them.
  std::shared_ptr<const DeviceProfiles> device_profiles;
  std::shared_ptr<const EpochProfiles> epochs;  ///< Times and batches epoch by epoch.
  std::shared_ptr<const DeviceSpeeds> speeds;   ///< On each model of device.
  std::string speeds_of;  ///< The model of that table that stated run times are told of.
};

}  // namespace orrery
