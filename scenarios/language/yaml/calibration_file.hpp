// The file that `calibration` names: what was measured of a cluster, which stands behind what the
// scenario itself says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// The only version of such files.
inline constexpr int kCalibrationVersion = 1;

/// Adds to `root`, a scenario whose overrides have been applied, what the calibration file that it
/// names has of timing, planner and cluster and the scenario has not. `directory` is where paths
/// written in the scenario begin. What comes from the file has the next origin behind `places`,
/// to which its path is appended. Nothing where the scenario names no file. Returns what is wrong
/// with the file as such: its values are read with the scenario's, and those that the scenario has
/// itself with `alone`, which becomes a scenario of what the file says.
Errors add_calibration(YamlNode& root,
                       const std::string& directory,
                       std::vector<std::string>& places,
                       YamlNode& alone);

}  // namespace orrery::scenarios
