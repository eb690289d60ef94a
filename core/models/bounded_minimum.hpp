// Minimum of a smooth function of a few variables within bounds.
#pragma once

#include <array>
#include <cstddef>

namespace orrery {

/// As many variables as the throughput model has parameters.
inline constexpr std::size_t kFitVariables = 7;
using FitVector = std::array<double, kFitVariables>;

/// A function with its gradient.
class FitFunction {
 public:
  virtual ~FitFunction() = default;

  /// The value at `x`; sets `gradient`. Finite within the bounds that the minimum is sought in.
  virtual double at(const FitVector& x, FitVector& gradient) const = 0;
};

/// `low` <= x <= `high` in each variable; infinite where there is no bound. Where both are equal,
/// the variable is fixed.
struct FitBounds {
  FitVector low{};
  FitVector high{};
};

/// When the search ends, whichever comes first.
struct FitLimits {
  int iterations_max = 200;
  double gradient_min = 1e-5;    ///< Largest component of the projected gradient.
  double decrease_min = 2.2e-9;  ///< Of the function in one step, in proportion to it.
  int idle_max = 3;              ///< Steps in a row below that.
};

struct FitMinimum {
  FitVector x{};
  double value = 0;
  int iterations = 0;
};

/// A local minimum of `f` within `bounds`, from `start`, which is first moved within them.
///
/// Projected quasi-Newton method: Newton steps in the variables that no bound holds, with a
/// Hessian that BFGS keeps positive by Powell's damping, and a backtracking search along the
/// projected path (D. Bertsekas, "Projected Newton methods", 1982; J. Nocedal and S. Wright,
/// "Numerical Optimization", 2006, procedure 18.2). No randomness, no clock: equal inputs give
/// equal bits.
FitMinimum minimum_within(const FitFunction& f,
                          const FitBounds& bounds,
                          const FitVector& start,
                          const FitLimits& limits = {});

}  // namespace orrery
