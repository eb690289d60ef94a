#include "core/models/bounded_minimum.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/math.hpp"

namespace orrery {

namespace {

using FitMatrix = std::array<FitVector, kFitVariables>;
using HeldVariables = std::array<bool, kFitVariables>;

double dot(const FitVector& a, const FitVector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kFitVariables; ++i) sum += a[i] * b[i];
  return sum;
}

FitVector times(const FitMatrix& m, const FitVector& v) {
  FitVector out{};
  for (std::size_t i = 0; i < kFitVariables; ++i) out[i] = dot(m[i], v);
  return out;
}

FitMatrix identity(double scale) {
  FitMatrix m{};
  for (std::size_t i = 0; i < kFitVariables; ++i) m[i][i] = scale;
  return m;
}

FitVector within(const FitBounds& bounds, FitVector x) {
  for (std::size_t i = 0; i < kFitVariables; ++i)
    x[i] = std::min(std::max(x[i], bounds.low[i]), bounds.high[i]);
  return x;
}

/// Which variables stand at a bound that the descent would leave by.
HeldVariables held_by(const FitBounds& bounds, const FitVector& x, const FitVector& gradient) {
  HeldVariables held{};
  for (std::size_t i = 0; i < kFitVariables; ++i)
    held[i] =
        (x[i] <= bounds.low[i] && gradient[i] >= 0) || (x[i] >= bounds.high[i] && gradient[i] <= 0);
  return held;
}

/// Largest step that a unit step of steepest descent would make within the bounds.
double projected_gradient(const FitBounds& bounds, const FitVector& x, const FitVector& gradient) {
  double largest = 0;
  for (std::size_t i = 0; i < kFitVariables; ++i) {
    const double to = std::min(std::max(x[i] - gradient[i], bounds.low[i]), bounds.high[i]);
    largest = std::max(largest, std::abs(to - x[i]));
  }
  return largest;
}

/// Solves `hessian` d = -gradient in the variables that are not held (d is 0 in the others), by
/// Cholesky's factors. False where the matrix is not positive there.
bool newton_step(const FitMatrix& hessian,
                 const FitVector& gradient,
                 const HeldVariables& held,
                 FitVector& step) {
  FitMatrix lower{};
  for (std::size_t i = 0; i < kFitVariables; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = held[i] || held[j] ? (i == j ? 1.0 : 0.0) : hessian[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      if (i != j) {
        lower[i][j] = sum / lower[j][j];
      } else if (sum > 0) {
        lower[i][i] = math::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  FitVector half{};
  for (std::size_t i = 0; i < kFitVariables; ++i) {
    double sum = held[i] ? 0 : -gradient[i];
    for (std::size_t k = 0; k < i; ++k) sum -= lower[i][k] * half[k];
    half[i] = sum / lower[i][i];
  }
  for (std::size_t i = kFitVariables; i-- > 0;) {
    double sum = half[i];
    for (std::size_t k = i + 1; k < kFitVariables; ++k) sum -= lower[k][i] * step[k];
    step[i] = held[i] ? 0 : sum / lower[i][i];
  }
  return true;
}

/// BFGS with Powell's damping: the matrix stays positive whatever the curvature was.
void update(FitMatrix& hessian, const FitVector& moved, FitVector gained) {
  constexpr double damping = 0.2;
  const FitVector expected = times(hessian, moved);
  const double old = dot(moved, expected);
  if (!(old > 0)) return;
  const double curvature = dot(moved, gained);
  if (curvature < damping * old) {
    const double share = (1 - damping) * old / (old - curvature);
    for (std::size_t i = 0; i < kFitVariables; ++i)
      gained[i] = share * gained[i] + (1 - share) * expected[i];
  }
  const double fresh = dot(moved, gained);
  if (!(fresh > 0)) return;
  for (std::size_t i = 0; i < kFitVariables; ++i)
    for (std::size_t j = 0; j < kFitVariables; ++j)
      hessian[i][j] += gained[i] * gained[j] / fresh - expected[i] * expected[j] / old;
}

/// A point of the search with its value and gradient.
struct FitPoint {
  FitVector x{};
  FitVector gradient{};
  double value = 0;
};

/// Of a step of a tenth at most: the parameters are of that order.
FitMatrix first_hessian(const FitBounds& bounds, const FitPoint& at) {
  return identity(std::max(1.0, 10 * projected_gradient(bounds, at.x, at.gradient)));
}

/// x + length * step, moved within the bounds, with its value and gradient.
FitPoint along(const FitFunction& f,
               const FitBounds& bounds,
               const FitPoint& from,
               const FitVector& step,
               double length) {
  FitPoint to;
  for (std::size_t i = 0; i < kFitVariables; ++i) to.x[i] = from.x[i] + length * step[i];
  to.x = within(bounds, to.x);
  to.value = f.at(to.x, to.gradient);
  return to;
}

/// Slope of the function at `at` along the projected path: what a bound stops does not count.
double slope_at(const FitBounds& bounds, const FitPoint& at, const FitVector& step) {
  double slope = 0;
  for (std::size_t i = 0; i < kFitVariables; ++i) {
    const bool stopped =
        (step[i] < 0 && at.x[i] <= bounds.low[i]) || (step[i] > 0 && at.x[i] >= bounds.high[i]);
    if (!stopped) slope += at.gradient[i] * step[i];
  }
  return slope;
}

/// A point along the projected path that lowers the function enough and is past the steep part of
/// the descent (weak Wolfe conditions, by bisection). These are met beside a kink as well, where
/// a root mean square is 0: BFGS needs no more there. Where the bisection ends first, its best
/// point; false where nothing was lower.
bool search_along(const FitFunction& f,
                  const FitBounds& bounds,
                  const FitVector& step,
                  const FitPoint& from,
                  FitPoint& to) {
  constexpr double sufficient = 1e-4;
  constexpr double steep = 0.9;
  constexpr int trials = 40;
  const double slope = slope_at(bounds, from, step);
  if (!(slope < 0)) return false;
  double shorter = 0;
  double longer = 0;  // 0: not found yet.
  double length = 1;
  bool found = false;
  for (int trial = 0; trial < trials; ++trial) {
    const FitPoint tried = along(f, bounds, from, step, length);
    const bool low_enough = tried.value <= from.value + sufficient * length * slope;
    if (low_enough && (!found || tried.value <= to.value)) {
      to = tried;
      found = true;
    }
    if (!low_enough) {
      longer = length;
    } else if (slope_at(bounds, tried, step) < steep * slope) {
      shorter = length;
    } else {
      return true;
    }
    length = longer > 0 ? (shorter + longer) / 2 : 2 * length;
  }
  return found;
}

/// One step of the search, by the Hessian or, where that leads nowhere, down the gradient.
bool advance(const FitFunction& f,
             const FitBounds& bounds,
             const FitPoint& from,
             FitMatrix& hessian,
             FitPoint& to) {
  const HeldVariables held = held_by(bounds, from.x, from.gradient);
  FitVector step{};
  if (newton_step(hessian, from.gradient, held, step) && search_along(f, bounds, step, from, to))
    return true;
  hessian = first_hessian(bounds, from);
  return newton_step(hessian, from.gradient, held, step) && search_along(f, bounds, step, from, to);
}

}  // namespace

FitMinimum minimum_within(const FitFunction& f,
                          const FitBounds& bounds,
                          const FitVector& start,
                          const FitLimits& limits) {
  FitPoint at;
  at.x = within(bounds, start);
  at.value = f.at(at.x, at.gradient);
  FitMatrix hessian = first_hessian(bounds, at);
  int iteration = 0;
  int idle = 0;  // Steps in a row that brought next to nothing.
  while (iteration < limits.iterations_max && idle < limits.idle_max &&
         projected_gradient(bounds, at.x, at.gradient) > limits.gradient_min) {
    ++iteration;
    FitPoint next;
    if (!advance(f, bounds, at, hessian, next)) break;
    FitVector moved{};
    FitVector gained{};
    for (std::size_t i = 0; i < kFitVariables; ++i) {
      moved[i] = next.x[i] - at.x[i];
      gained[i] = next.gradient[i] - at.gradient[i];
    }
    update(hessian, moved, gained);
    const double decrease = at.value - next.value;
    at = next;
    const bool idled = decrease <= limits.decrease_min * std::max(1.0, std::abs(at.value));
    idle = idled ? idle + 1 : 0;
    // What was learned of the curvature may be what holds the search back.
    if (idled) hessian = first_hessian(bounds, at);
  }
  return {at.x, at.value, iteration};
}

}  // namespace orrery
