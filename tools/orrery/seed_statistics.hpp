// Statistics over seeds as JSON, and what to say of too few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/json_text.hpp"
#include "sim/results/summary.hpp"
#include "sim/statistics/policy_statistics.hpp"

namespace orrery::cli {

/// Appends an array: {"policy": ..., "seeds": n, "jct_avg_s": {"mean": m, "ci95": h, "low": l,
/// "high": u}, ...}; null in place of what one seed does not give.
void put_statistics(std::span<const sim::PolicyStatistics> statistics, JsonText& json);

/// Appends an array: {"policy": ..., "against": ..., "jct_avg_s": {"mean": ..., "p": ...,
/// "p_holm": ...}, ...}.
void put_differences(std::span<const sim::PolicyDifference> differences, JsonText& json);

/// How to come to intervals and significance, where `seeds` are too few for them; else empty.
std::string advice_on_seeds(std::uint64_t seeds, std::size_t policies);

/// Says how many of the runs have finished no job, and what that makes of means; empty where none.
std::string note_on_unfinished(std::span<const sim::Summary> runs);

}  // namespace orrery::cli
