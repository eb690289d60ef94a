// Options that torchrun takes and that mean nothing under a controller.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// A sentence for each reason why some of what was given is let be; without line ends.
std::vector<std::string> torchrun_notes(const Arguments& arguments);

/// What contradicts the way in which `orrery run` is used: a node rank above 0.
Errors torchrun_contradictions(const Arguments& arguments);

}  // namespace orrery::cli
