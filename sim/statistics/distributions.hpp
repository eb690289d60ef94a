// The two distributions that intervals are made with, equal on every processor.
#pragma once

#include <cstddef>

namespace orrery::sim {

/// Distribution function of the standard normal at `x`. Absolute error below 1e-15; the series of
/// Marsaglia, "Evaluating the normal distribution" (Journal of Statistical Software 11(4), 2004).
double normal_below(double x);

/// The point of Student's distribution that is exceeded with probability 0.025; `freedom` at least
/// 1. Up to 30 degrees from the usual table (three decimals); beyond by the expansion around the
/// normal's 1.959964 (Abramowitz and Stegun 26.7.5), with an error below 1e-5.
double student_975(std::size_t freedom);

}  // namespace orrery::sim
