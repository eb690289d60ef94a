// The parameters of the policy `twin`, and how it is made from them.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "policies/registry.hpp"

namespace orrery::policies {

inline constexpr ParameterRow kTwinParameters[] = {
    {"candidates",
     ParameterType::Text,
     "",
     "easy; srtf; las; fit",
     "",
     "",
     "policies with their parameters, such as las quantum=10min; the first begins"},
    {"objective",
     ParameterType::Text,
     "",
     "mean_jct",
     "",
     "",
     "what is to be small: mean_jct, makespan or p99_wait"},
    {"period",
     ParameterType::Duration,
     "",
     "10min",
     "1s",
     "",
     "time between two decisions, at least"},
    {"pause_max",
     ParameterType::Integer,
     "periods",
     "8",
     "1",
     "1000",
     "between two decisions at most, while no other candidate comes near to being better"},
    {"events_max",
     ParameterType::Integer,
     "events",
     "20000",
     "100",
     "10000000",
     "simulated in one decision, all candidates together"},
    {"margin",
     ParameterType::Number,
     "part of what it comes to",
     "0.02",
     "0",
     "1",
     "by which another candidate must be better to be adopted"},
    {"restart",
     ParameterType::Duration,
     "",
     "30s",
     "0s",
     "",
     "what a job that was stopped loses when it starts again, in rehearsals"},
};

/// `arguments.rehearsal` is set. Candidates are made with the same arguments, each with its own
/// parameters; queues stand in front of every candidate. Errors of a candidate have the subject
/// "policy.candidates".
Result<std::unique_ptr<Policy>> make_twin(const ParameterValues& values,
                                          const PolicyArguments& arguments);

}  // namespace orrery::policies
