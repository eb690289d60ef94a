// The throughput model of a job, fitted to what its workers measured.
#pragma once

#include <span>

#include "core/models/bounded_minimum.hpp"
#include "core/models/goodput.hpp"

namespace orrery {

/// What one replica measured at one shape of its job.
struct ThroughputObservation {
  ReplicaSpread spread;
  int atomic_batch = 0;  ///< Examples per replica and step, at least 1.
  double compute_s = 0;  ///< Of one accumulation step, which sends nothing; above 0, seconds.
  double step_s = 0;     ///< Of one step with its synchronisation; above 0, seconds.

  friend bool operator==(const ThroughputObservation&, const ThroughputObservation&) = default;
};

/// The parameters with the least error over `observations`, of which there is one at least. The
/// order of the observations matters in the last digits only.
///
/// Minimised is the root mean square of log T_grad against log `compute_s`, and that of log T_iter
/// (no accumulation) against log `step_s`, plus 1e-3 (gamma - 1)^2 and
/// 1e-2 ((beta_n / alpha_n)^2 + (beta_r / alpha_r)^2). What nothing was measured of is assumed to
/// scale perfectly: with one batch per replica alpha_c is half the mean of `compute_s`; without
/// several nodes, or without several replicas on one, that pair is nearly 0; without more than two
/// replicas both betas are. Between nodes synchronisation is then at least 1.1 times as slow as
/// within one. (Qiao et al., OSDI 2021, section 4.1, with the weights of its artifact.)
/// `limits` say how near to the least error it goes.
ThroughputParameters fit_throughput(std::span<const ThroughputObservation> observations,
                                    const FitLimits& limits = {});

}  // namespace orrery
