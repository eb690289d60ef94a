// Applies `--set path=value` to a document before it is read.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/loader.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// What messages name as the place of an override: "--set path=value".
std::string override_place(const Override& override);

/// Sets one value in `root`, which becomes a map where it is null. Missing maps on the way are
/// made; a list's element must exist, or be the next one. `source` marks what is set. A plain
/// `policy: name` becomes a map when a parameter of it is set. Returns what is wrong.
Errors apply_override(YamlNode& root, const Override& override, std::uint32_t source);

}  // namespace orrery::scenarios
