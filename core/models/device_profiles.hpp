// Applications measured on several models of device.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/models/pollux_application.hpp"

namespace orrery {

/// Profiles by the name of the device model that they were measured on. Every model has the same
/// applications, which differ in their times and batches per device alone.
using DeviceProfiles = std::map<std::string, PolluxProfiles, std::less<>>;

/// The application as it was measured on `model`; null where there are no profiles of that model.
inline const PolluxApplication* find_application(const DeviceProfiles& profiles,
                                                 std::string_view model,
                                                 std::string_view application) {
  const auto of_model = profiles.find(model);
  if (of_model == profiles.end()) return nullptr;
  const auto found = of_model->second.find(application);
  return found == of_model->second.end() ? nullptr : &found->second;
}

/// One application, as it was measured on each model of device.
struct ProfiledApplication {
  const PolluxApplication* first = nullptr;  ///< On one of the models, or on all alike.
  const DeviceProfiles* by_model = nullptr;  ///< Null: on all alike.
};

/// By name.
using ProfiledApplications = std::map<std::string, ProfiledApplication, std::less<>>;

}  // namespace orrery
