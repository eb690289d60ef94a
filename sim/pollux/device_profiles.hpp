// Reader of profiles of several models of device.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/base/result.hpp"
#include "core/models/device_profiles.hpp"

namespace orrery::sim {

/// Reads a folder of applications, in the form of `read_pollux_profiles`, for each model of device;
/// `folders` is by model and has at least one. (Sia's simulator has such profiles: Jayaram
/// Subramanya et al., SOSP 2023.)
///
/// All models must have the same applications, of the same total batches and numbers of epochs.
/// All that is wrong in all of them is reported at once.
Result<DeviceProfiles> read_device_profiles(
    const std::map<std::string, std::filesystem::path>& folders);

}  // namespace orrery::sim
