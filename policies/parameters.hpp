// Reading the parameters of a policy from text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "policies/registry.hpp"

namespace orrery::policies {

/// The duration that a text says: a number with ns, us, ms, s, min, h or d, a bare one in seconds.
/// Nothing where it is none.
std::optional<Duration> duration_of(std::string_view text);

/// Checks the written parameters against the row's and fills in defaults. All errors at once, each
/// with the subject "policy.PARAMETER".
Result<ParameterValues> read_parameters(const PolicyRow& row,
                                        const std::map<std::string, std::string>& written);

}  // namespace orrery::policies
