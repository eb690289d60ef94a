// The middle of all shares that keep a set of bounds.
#pragma once

#include <vector>

#include "policies/device_shares.hpp"

namespace orrery::policies {

/// The analytic centre of the shares under which every job has at least the speed `needed[job]`
/// (steps per second): those at which the product of all slacks is greatest,
///
///     x_ij,   1 - sum_j x_ij,   N_j - sum_i k_i x_ij,   speed_i(x) - needed_i
///
/// An interior-point method that is given no objective ends near it (S. Boyd, L. Vandenberghe,
/// *Convex Optimization*, 2004, sections 8.5.3 and 11). `inside` has a share above 0 of every type
/// that has devices, and keeps every bound with something to spare; types without devices stay at
/// 0. Damped Newton steps, which need no search for their length; at most 200 of them.
Shares centre_of(const Sharing& sharing, const std::vector<double>& needed, Shares inside);

}  // namespace orrery::policies
