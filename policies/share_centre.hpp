// The middle of all shares that keep a set of bounds.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "policies/device_shares.hpp"

namespace orrery::policies {

/// Bounds that shares keep beside those of every sharing.
struct CentreBounds {
  /// The least speed of each job in steps per second; -infinity: it has none.
  std::vector<double> needed;
  /// The least sum of all speeds.
  double all = -std::numeric_limits<double>::infinity();
  /// Whether `needed` bounds the times that steps take, 1 / speed, which a cone program holds by
  /// y speed >= 1. With y where it has most room the slack of a job then counts as
  /// (speed - needed)^2 / speed.
  bool of_times = false;
};

/// The analytic centre of the shares that keep `bounds`: those at which the product of all slacks
/// is greatest,
///
///     x_ij,   1 - sum_j x_ij,   N_j - sum_i k_i x_ij,   speed_i(x) - needed_i,
///     sum_i speed_i(x) - all
///
/// An interior-point method that is given no objective ends near it (S. Boyd, L. Vandenberghe,
/// *Convex Optimization*, 2004, sections 8.5.3 and 11). `inside` has a share above 0 of every type
/// that has devices, and keeps every bound with something to spare; types without devices stay at
/// 0. Damped Newton steps, which need no search for their length; at most 200 of them.
Shares centre_of(const Sharing& sharing, const CentreBounds& bounds, Shares inside);

/// Where an interior-point method with an objective ends: it goes through the centres of the shares
/// that are ever nearer to the optimum, up to a small gap. Of several optima that is the middle.
///
/// `bounds_at(gap)` says what shares keep that lack at most a part `gap` of the way from `inside`
/// to the optimum, for gaps from 1 down to 10^-7; `inside` keeps that of 1 with something to spare,
/// and `best` is an optimum.
Shares centre_near(const Sharing& sharing,
                   const Shares& best,
                   Shares inside,
                   const std::function<CentreBounds(double gap)>& bounds_at);

/// Shares to begin with: half of those of everyone's equal part.
Shares half_isolated(const Sharing& sharing);

}  // namespace orrery::policies
