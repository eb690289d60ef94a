#pragma once

#include <cmath>

/// Elementary functions whose results are equal, bit for bit, on every processor.
///
/// The C library chooses between several versions of exp, log and pow by processor features, and
/// these differ in the last bit; one such bit in a policy's score changes a decision. The functions
/// here use only additions, multiplications, divisions and std::sqrt, which IEEE 754 fixes exactly.
/// They need `-ffp-contract=off`, and never fast-math.
namespace orrery::math {

/// e^x. Largest error below 1 ulp (0.9 measured). Overflows to infinity above 709.78, underflows
/// through the subnormal numbers to 0 below -745.13; exp(NaN) is NaN.
double exp(double x);

/// Natural logarithm. Largest error below 1 ulp (0.9 measured). log(0) is -infinity (of either
/// sign), log of a negative number is NaN, log(infinity) is infinity.
double log(double x);

/// e^x - 1, accurate also near 0. Largest error 3 ulp.
double expm1(double x);

/// log(1 + x), accurate also near 0. Largest error 3 ulp. log1p(-1) is -infinity, NaN below -1.
double log1p(double x);

/// x^y. Largest error below 1 ulp (0.9 measured), subnormal results included. Special values as
/// IEEE 754 recommends: pow(x, 0) = pow(1, y) = 1 even for NaN; a negative x gives a sign by the
/// parity of an integer y and NaN for any other y; pow(0, y < 0) is infinity (negative for -0 and
/// odd y).
double pow(double x, double y);

/// sin(2 pi turns): 0.25 gives exactly 1, every integer and half exactly 0. Absolute error below
/// 2e-16. NaN for infinite and NaN arguments.
double sin_of_turns(double turns);

/// Square root: exact to the last bit by IEEE 754; here so that callers need one namespace.
inline double sqrt(double x) { return std::sqrt(x); }

}  // namespace orrery::math
