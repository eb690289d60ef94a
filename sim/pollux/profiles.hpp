// Importer of the Pollux application profiles (OSDI 2021 artifact, `traces/<application>/`).
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/result.hpp"
#include "core/models/pollux_application.hpp"

namespace orrery::sim {

/// What an application was measured on. The artifact's limit of a batch on one device is that of
/// its own T4; on others the largest one that was measured counts.
enum class ProfiledOn : std::uint8_t { ArtifactT4, Other };

/// Reads one application from `folder`: `placements.csv`, `scalability.csv` and one
/// `validation-B.csv` per total batch B. The folder's name is the application's. Batch and epoch
/// limits come from the files, but for the limits that the artifact sets by hand. Every broken line
/// is reported, with its number.
Result<PolluxApplication> read_pollux_application(const std::filesystem::path& folder,
                                                  ProfiledOn device = ProfiledOn::ArtifactT4);

/// Reads every application below `folder`, at least one.
Result<PolluxProfiles> read_pollux_profiles(const std::filesystem::path& folder,
                                            ProfiledOn device = ProfiledOn::ArtifactT4);

}  // namespace orrery::sim
