// Named workload descriptions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "scenarios/language/spec/generator_spec.hpp"

namespace orrery::scenarios {

/// Jobs with the statistics of Microsoft's Philly cluster, 2017, as published in its trace (82,247
/// GPU jobs of 1 to 128 GPUs; CC BY 4.0): shares of sizes, durations by size, swing over the day.
///
/// Sizes. Shares of 1, 2, 4, 8, 16, 32, 64 and 128 GPUs as counted; the few jobs of 12 and 24 are
/// counted with 8 and 16.
///
/// Durations. A mixture of lognormals for each size: fitted to the logarithms of the durations by
/// expectation maximisation (two to four parts), then rounded, and the rare long part of the 1-GPU
/// jobs moved by hand until mean and quantiles agreed. 32 GPUs and more share one fit, for there
/// are only 76 such jobs. Cut to 1 s ... 4,628,226 s, the trace's extremes.
///
///     all sizes      median   90%      99%       mean
///     trace          1,144 s  11,265 s 254,758 s 13,136 s
///     this mixture   1,150 s  11,000 s 276,000 s 13,140 s
///
/// What it leaves out: the trace's bursts (a user submitting many equal jobs at once), its weekly
/// rhythm, and any link between user and size.
///
/// Arrivals. Poisson with a daily swing of amplitude 0.29, the first harmonic of the trace's counts
/// by hour of day; the highest rate is at 04:30 of the trace's clock, which is `peak_at`, with the
/// run starting at midnight. The offered load is 0.9 of a cluster of 448 GPUs (56 nodes of 8), on
/// which the trace itself offers 0.84.
GeneratorSpec philly_like();

/// A spec by its name, or nothing. Names: "philly-like".
std::optional<GeneratorSpec> preset_by_name(std::string_view name);

/// All names, for messages.
std::vector<std::string_view> preset_names();

}  // namespace orrery::scenarios
