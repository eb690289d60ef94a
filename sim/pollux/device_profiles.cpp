#include "sim/pollux/device_profiles.hpp"

#include <utility>

#include "core/base/invariant.hpp"
#include "sim/pollux/profiles.hpp"

namespace orrery::sim {

namespace {

using Folders = std::map<std::string, std::filesystem::path>;

/// What must be the same on all models.
std::string course_of(const PolluxApplication& application) {
  return "total batches of " + std::to_string(application.limits().initial_total) + " to " +
         std::to_string(application.limits().total_max) + " and " +
         std::to_string(application.epochs_max()) + " epochs";
}

/// Each application against the first model that has it.
Errors compare(const DeviceProfiles& profiles, const Folders& folders) {
  Errors errors;
  std::map<std::string, std::string> first;  // [application]: the model.
  for (const auto& [model, applications] : profiles)
    for (const auto& [name, application] : applications) first.emplace(name, model);
  for (const auto& [model, applications] : profiles) {
    for (const auto& [name, elsewhere] : first) {
      const std::filesystem::path& folder = folders.at(model);
      const auto here = applications.find(name);
      if (here == applications.end()) {
        errors.push_back(Error{.code = ErrorCode::NotFound,
                               .file = folder.string(),
                               .subject = name,
                               .message = "found no profile for device model " + model +
                                          ", needed one, for " + elsewhere +
                                          " has it; add the folder, or remove it from all models"});
        continue;
      }
      const std::string found = course_of(here->second);
      const std::string needed = course_of(*find_application(profiles, elsewhere, name));
      if (found != needed)
        errors.push_back(Error{.file = (folder / name).string(),
                               .subject = name,
                               .message = "found " + found + ", needed " + needed +
                                          " as for device model " + elsewhere +
                                          "; give all models the same validation files"});
    }
  }
  return errors;
}

}  // namespace

Result<DeviceProfiles> read_device_profiles(const Folders& folders) {
  invariant(!folders.empty(), "profiles are of a model of device");
  DeviceProfiles profiles;
  Errors errors;
  for (const auto& [model, folder] : folders) {
    Result<PolluxProfiles> of_model = read_pollux_profiles(folder, ProfiledOn::Other);
    if (of_model)
      profiles.emplace(model, std::move(*of_model));
    else
      errors.insert(errors.end(), of_model.errors().begin(), of_model.errors().end());
  }
  if (!errors.empty()) return errors;
  errors = compare(profiles, folders);
  if (!errors.empty()) return errors;
  return profiles;
}

}  // namespace orrery::sim
