// What the workers of a job report of their speed and gradients, as a goodput model needs it.
#pragma once

#include <optional>
#include <span>

#include "core/job/profiling.hpp"
#include "core/job/row.hpp"
#include "core/models/goodput.hpp"
#include "core/models/throughput_fit.hpp"

namespace orrery::policies {

/// Read from the profilings of a job (docs/policies.md, pollux).
struct GoodputReport {
  /// What is measured at the present placement; nothing before its workers have reported
  /// `step_time_s`, `batch_size` and one of `compute_time_s` and `sync_time_s`.
  std::optional<ThroughputObservation> observed;
  GradientStats stats;  ///< Of the latest report; nothing known: both 0, every batch is worth it.
  BatchLimits limits;   ///< As reported; else the batch is taken to stay as it is.
};

/// `nodes`: on how many nodes the job's replicas are.
GoodputReport read_report(std::span<const ProfilingSeries> profilings,
                          const JobRow& row,
                          int nodes);

}  // namespace orrery::policies
