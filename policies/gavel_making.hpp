// The rules of Gavel as users choose them: their parameters, and how a policy is made from them.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "policies/gavel.hpp"
#include "policies/registry.hpp"

namespace orrery::policies {

inline constexpr ParameterRow kRoundLength = {
    "round",
    ParameterType::Duration,
    "",
    "360s",
    "1s",
    "",
    "how long a job holds its devices before others may get them"};

inline constexpr ParameterRow kShareReset = {
    "reset",
    ParameterType::Duration,
    "",
    "1920s",
    "0s",
    "",
    "least time between two computations of the shares, after jobs have come or gone"};

inline constexpr ParameterRow kNewcomers = {
    "newcomers",
    ParameterType::Flag,
    "",
    "true",
    "",
    "",
    "whether jobs that came since the shares were computed use devices that are left"};

inline constexpr ParameterRow kAtOnce = {
    "at_once",
    ParameterType::Flag,
    "",
    "false",
    "",
    "",
    "whether shares follow in the next round after a change, and only accounts wait for reset"};

inline constexpr ParameterRow kChooseAhead = {
    "choose_ahead",
    ParameterType::Duration,
    "",
    "0s",
    "0s",
    "",
    "how long before a round begins its jobs are chosen, less than a round"};

inline constexpr ParameterRow kCentred = {
    "centred",
    ParameterType::Flag,
    "",
    "false",
    "",
    "",
    "of several optima the one in the middle, as an interior-point method ends; false: a vertex"};

inline constexpr ParameterRow kGavelFifoParameters[] = {kRoundLength, kShareReset};

inline constexpr ParameterRow kGavelParameters[] = {
    kRoundLength, kShareReset, kNewcomers, kAtOnce, kChooseAhead};

/// Of rules whose programs may have several optima.
inline constexpr ParameterRow kGavelCentredParameters[] = {
    kRoundLength, kShareReset, kNewcomers, kAtOnce, kChooseAhead, kCentred};

inline constexpr ParameterRow kGavelLasParameters[] = {
    kRoundLength,
    kShareReset,
    kNewcomers,
    kAtOnce,
    kChooseAhead,
    kCentred,
    {"type_aware",
     ParameterType::Flag,
     "",
     "true",
     "",
     "",
     "whether it is known how fast a job is on each type of device"},
    {"water_filling",
     ParameterType::Flag,
     "",
     "false",
     "",
     "",
     "whether what is left when the least job has no more to gain is shared in the same way"},
};

inline constexpr ParameterRow kBeside = {
    "beside",
    ParameterType::Number,
    "of the speed alone",
    "0",
    "0",
    "1",
    "what two jobs keep on the same devices where that was not measured"};

inline constexpr ParameterRow kGavelPackingParameters[] = {
    kRoundLength,
    kShareReset,
    kNewcomers,
    kAtOnce,
    kChooseAhead,
    kBeside,
    {"pairs_most",
     ParameterType::Integer,
     "pairs",
     "2000",
     "0",
     "100000",
     "how many pairs of jobs are looked at, those that gain most"},
};

inline constexpr ParameterRow kAlloXParameters[] = {
    kRoundLength,
    kShareReset,
    kNewcomers,
    kAtOnce,
    kChooseAhead,
    {"considered",
     ParameterType::Number,
     "of the waiting jobs",
     "1",
     "0",
     "1",
     "which part of them is matched to devices, the oldest; at least as many as devices are free"},
    {"depth", ParameterType::Integer, "jobs", "400", "1", "2000", "how many are matched at most"},
};

inline constexpr ParameterRow kGandivaParameters[] = {
    kRoundLength, kShareReset, kNewcomers, kAtOnce, kChooseAhead, kBeside};

/// The parameter `choose_ahead`, or what is wrong with it beside such a round.
Result<Duration> choose_ahead_of(const ParameterValues& values);

/// The policy of a rule. `name` is static and has its version; the values are those of the rule's
/// parameters above.
Result<std::unique_ptr<Policy>> make_gavel(std::string_view name,
                                           SharingRule rule,
                                           const ParameterValues& values,
                                           const PolicyArguments& arguments);

}  // namespace orrery::policies
