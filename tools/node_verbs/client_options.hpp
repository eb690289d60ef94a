// Options that all verbs share which ask a running controller.
#pragma once

#include <vector>

#include "tools/console/verb.hpp"

namespace orrery::cli {

/// `own` and then the options that name a controller and the identity to show.
std::vector<OptionSpec> with_client_options(std::vector<OptionSpec> own);

}  // namespace orrery::cli
