// The parameters of orrery: their rows in the registry, and what becomes of their values.
#pragma once

#include "policies/orrery_policy.hpp"
#include "policies/parameters.hpp"

namespace orrery::policies {

inline constexpr ParameterRow kOrreryParameters[] = {
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
    {"restart",
     ParameterType::Duration,
     "",
     "30s",
     "0s",
     "",
     "what a change of its devices costs a job"},
    {"horizon",
     ParameterType::Duration,
     "",
     "1h",
     "1s",
     "",
     "time within which a change has to pay, at most"},
    {"payback",
     ParameterType::Number,
     "of the time left",
     "0.1",
     "0.001",
     "1000",
     "within which a change has to pay"},
    {"growth",
     ParameterType::Number,
     "times the replicas",
     "4",
     "1",
     "1000",
     "that a job's speed is known for, it may have at most"},
    {"first_replicas",
     ParameterType::Integer,
     "replicas",
     "4",
     "1",
     "100000",
     "of a job of unknown speed, at most, above its minimum"},
    {"patience",
     ParameterType::Duration,
     "",
     "1h",
     "1s",
     "",
     "wait after which a gang is passed by none any more, and an elastic job counts as half as "
     "long"},
    {"epochs",
     ParameterType::Flag,
     "",
     "true",
     "",
     "",
     "how many epochs a job has is known where its profile says so"},
    {"alike",
     ParameterType::Flag,
     "",
     "true",
     "",
     "",
     "what is reported of a job's speed holds for the other jobs of its profile"},
    {"profiles",
     ParameterType::Flag,
     "",
     "false",
     "",
     "",
     "speeds that nothing has been reported of are those of the job's profile, where it has one"},
};

/// `values` are those of the rows above.
OrreryParameters orrery_parameters(const ParameterValues& values);

}  // namespace orrery::policies
