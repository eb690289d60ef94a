// Loads scenario files: everything that is wrong with one is reported at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// `path=value` of the command line's `--set`: the path names a value of the scenario
/// ("workload.file", "jobs[0].priority"); the value is YAML.
struct Override {
  std::string path;
  std::string value;
};

/// Splits "path=value". Errors: no '=', an empty path.
Result<Override> parse_override(std::string_view text);

/// Reads and checks a scenario file. Errors come sorted by line, those of overrides last, their
/// file given as `--set path=value`. Names of policies and their parameters are not checked here,
/// nor is the content of workload files. Paths inside the scenario are relative to its directory;
/// those that an override gives are relative to the current directory. `policy`, where it is asked
/// for, becomes that of the scenario, whatever else is wrong, without what of it could not be read.
Result<Scenario> load_scenario(const std::string& path,
                               const std::vector<Override>& overrides = {},
                               PolicyChoice* policy = nullptr);

/// The same for a text that was read already: `file` names it in messages and gives the directory
/// of relative paths.
Result<Scenario> load_scenario_text(std::string_view text,
                                    const std::string& file,
                                    const std::vector<Override>& overrides = {},
                                    PolicyChoice* policy = nullptr);

/// The same, and opens nothing: a scenario that names a calibration is refused.
Result<Scenario> parse_scenario(std::string_view text,
                                const std::string& file,
                                const std::vector<Override>& overrides = {},
                                PolicyChoice* policy = nullptr);

/// The same of a tree that was read already, for example one composed of files: `places` names what
/// its nodes come from, by Origin::source.
Result<Scenario> scenario_of(const YamlNode& root, const std::vector<std::string>& places);

}  // namespace orrery::scenarios
