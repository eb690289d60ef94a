// Jobs of a Shockwave workload on the cluster of a scenario.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_job.hpp"
#include "sim/results/summary.hpp"
#include "sim/shockwave/adaptive_jobs.hpp"

namespace orrery::sim {

/// Opens and reads the trace and its table of speeds; counts in `account` what became of its rows.
Result<AdaptiveWorkload> load_adaptive(const scenarios::ShockwaveWorkload& workload,
                                       WorkloadAccount& account);

/// The jobs of `jobs`; both outlive the source. Each has a worker for every GPU, wherever they are
/// free, and reports epochs done as its work.
std::unique_ptr<JobSource> play_adaptive(const scenarios::ShockwaveWorkload& workload,
                                         const AdaptiveWorkload& jobs);

}  // namespace orrery::sim
