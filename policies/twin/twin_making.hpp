// The policy `twin` from the values of its parameters.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "policies/registry.hpp"

namespace orrery::policies {

/// `arguments.rehearsal` is set. Candidates are made with the same arguments, each with its own
/// parameters; queues stand in front of every candidate. Errors of a candidate have the subject
/// "policy.candidates".
Result<std::unique_ptr<Policy>> make_twin(const ParameterValues& values,
                                          const PolicyArguments& arguments);

}  // namespace orrery::policies
