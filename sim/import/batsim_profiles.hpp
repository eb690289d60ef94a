// Reader of the profiles of a Batsim workload, of all versions of the format.
#pragma once

#include <string>
#include <vector>

#include "sim/import/batsim_file.hpp"
#include "sim/import/json_tree.hpp"

namespace orrery::sim {

/// Reads one profile. Reports what is wrong. Adds the type's name to `old_names` where it is one of
/// before v5; with strict names that is an error.
BatsimProfile read_batsim_profile(const std::string& name,
                                  const JsonNode& node,
                                  BatsimNames names,
                                  std::vector<std::string>& old_names,
                                  FileErrors& errors);

}  // namespace orrery::sim
