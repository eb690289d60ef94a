// Reading the parameters of a policy from text.
#pragma once

#include <map>
#include <string>

#include "policies/registry.hpp"

namespace orrery::policies {

/// Checks the written parameters against the row's and fills in defaults. All errors at once, each
/// with the subject "policy.PARAMETER".
Result<ParameterValues> read_parameters(const PolicyRow& row,
                                        const std::map<std::string, std::string>& written);

}  // namespace orrery::policies
