#include "core/base/math.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace orrery::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// ln 2 in three parts. The first has 40 significant bits, so that its product with a binary
// exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa2000p-1;
constexpr double kLn2Middle = 0x1.9ef35793c7673p-41;
constexpr double kOneOverLn2 = 0x1.71547652b82fep+0;

// Adding and taking away 1.5 * 2^52 rounds to an integer, ties to even.
constexpr double kRounder = 0x1.8p52;

/// An unevaluated sum: about 106 bits. `low` is at most half a unit in the last place of `high`.
struct DoubleDouble {
  double high;
  double low;
};

/// Exact sum of two numbers.
DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// Exact sum where |a| >= |b|.
DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// Exact product, by splitting each factor in halves of 26 bits (Dekker). Factors must stay below
/// 2^996.
DoubleDouble two_product(double a, double b) {
  constexpr double kSplitter = 0x1.0p27 + 1.0;
  const double a_scaled = kSplitter * a;
  const double b_scaled = kSplitter * b;
  const double a_high = a_scaled - (a_scaled - a);
  const double b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double product = a * b;
  const double error =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return {product, error};
}

DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return fast_two_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/// value * 2^exponent, rounded once; exponent in -1100 .. 1100.
double scale(double value, std::int64_t exponent) {
  const auto power_of_two = [](std::int64_t e) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
  };
  if (exponent > 1000) return value * power_of_two(1000) * power_of_two(exponent - 1000);
  // The first product below is exact, so a subnormal result is rounded by the second alone.
  if (exponent < -1000) return value * power_of_two(exponent + 200) * power_of_two(-200);
  return value * power_of_two(exponent);
}

/// exp(x + x_low) for |x_low| far below |x|.
///
/// With k the integer nearest to x / ln 2 and r = x - k ln 2, exp(x) = 2^k exp(r) and |r| <=
/// 0.3466, where the Taylor polynomial of degree 13 is wrong by less than 2^-57.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): high and low half of one number
double exp_of_sum(double x, double x_low) {
  if (x > 709.79) return kInfinity;
  if (x < -745.14) return 0.0;
  const double k = (x * kOneOverLn2 + kRounder) - kRounder;
  const double high = x - k * kLn2High;
  const double low = k * kLn2Middle - x_low;
  const double r = high - low;
  const double rest = (high - r) - low;

  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double c2 = 0x1.0000000000000p-1 + r * 0x1.5555555555555p-3;
  const double c4 = 0x1.5555555555555p-5 + r * 0x1.1111111111111p-7;
  const double c6 = 0x1.6c16c16c16c17p-10 + r * 0x1.a01a01a01a01ap-13;
  const double c8 = 0x1.a01a01a01a01ap-16 + r * 0x1.71de3a556c734p-19;
  const double c10 = 0x1.27e4fb7789f5cp-22 + r * 0x1.ae64567f544e4p-26;
  const double c12 = 0x1.1eed8eff8d898p-29 + r * 0x1.6124613a86d09p-33;
  const double tail = (c2 + r2 * c4) + r4 * ((c6 + r2 * c8) + r4 * (c10 + r2 * c12));
  const double power = 1.0 + (r + (r2 * tail + (rest + rest * r)));
  return scale(power, static_cast<std::int64_t>(k));
}

/// x = fraction * 2^exponent with fraction in [sqrt(1/2), sqrt(2)).
struct Binary {
  double fraction;
  double exponent;
};

/// For positive finite x, subnormal ones included.
Binary split_binary(double x) {
  constexpr std::uint64_t kBitsOfRootHalf = 0x3fe6a09e667f3bcd;
  double bias = 0.0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1.0p54;
    bias = -54.0;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int64_t>(bits - kBitsOfRootHalf) >> 52;
  const double fraction =
      std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  return {fraction, static_cast<double>(exponent) + bias};
}

/// log(x) for positive finite x, relative error about 2^-64.
///
/// With s = f / (2 + f): log(1 + f) = 2 s + s z (2/3 + 2/5 z + 2/7 z^2 ...), z = s^2 <= 0.0295. The
/// terms from z^2 on are below 2^-11 of the whole and may be plain doubles.
DoubleDouble log_exact(double x) {
  const auto [fraction, exponent] = split_binary(x);
  const double f = fraction - 1.0;
  const DoubleDouble divisor = two_sum(2.0, f);
  const double s_high = f / divisor.high;
  const DoubleDouble back = two_product(s_high, divisor.high);
  const double s_low = (((f - back.high) - back.low) - s_high * divisor.low) / divisor.high;
  const DoubleDouble s{s_high, s_low};

  const DoubleDouble z = multiply(s, s);
  const double w = z.high;
  const double tail =
      0x1.999999999999ap-2 +
      w * (0x1.2492492492492p-2 +
           w * (0x1.c71c71c71c71cp-3 +
                w * (0x1.745d1745d1746p-3 +
                     w * (0x1.3b13b13b13b14p-3 +
                          w * (0x1.1111111111111p-3 +
                               w * (0x1.e1e1e1e1e1e1ep-4 +
                                    w * (0x1.af286bca1af28p-4 +
                                         w * (0x1.8618618618618p-4 +
                                              w * (0x1.642c8590b2164p-4 +
                                                   w * 0x1.47ae147ae147bp-4)))))))));
  constexpr DoubleDouble kTwoThirds{0x1.5555555555555p-1, 0x1.5555555555555p-55};
  const DoubleDouble third = multiply(z, kTwoThirds);
  const DoubleDouble series = two_sum(third.high, w * w * tail);
  DoubleDouble factor = fast_two_sum(2.0, series.high);
  factor.low += series.low + third.low;
  const DoubleDouble log_fraction = multiply(s, factor);

  DoubleDouble sum = two_sum(exponent * kLn2High, log_fraction.high);
  sum.low += exponent * kLn2Middle + log_fraction.low;
  return fast_two_sum(sum.high, sum.low);
}

bool is_integer(double y) { return std::floor(y) == y; }

/// For finite y.
bool is_odd_integer(double y) { return is_integer(y) && !is_integer(y * 0.5); }

/// x^y for positive finite x other than 1 and finite y other than 0.
double pow_of_positive(double x, double y) {
  // |log x| is at least 2^-53 here: a larger |y| overflows or underflows for certain, and would
  // overflow the exact product below; a smaller one cannot move the result away from 1.
  if (std::fabs(y) >= 0x1.0p64) return (x > 1.0) == (y > 0.0) ? kInfinity : 0.0;
  if (std::fabs(y) <= 0x1.0p-80) return 1.0;
  const DoubleDouble log_x = log_exact(x);
  const DoubleDouble product = two_product(y, log_x.high);
  const DoubleDouble exponent = fast_two_sum(product.high, product.low + y * log_x.low);
  return exp_of_sum(exponent.high, exponent.low);
}

}  // namespace

double exp(double x) {
  if (std::isnan(x)) return x;
  return exp_of_sum(x, 0.0);
}

double log(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x == 0.0) return -kInfinity;
  if (x < 0.0) return kNaN;
  const auto [fraction, exponent] = split_binary(x);
  const double f = fraction - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double z2 = z * z;
  const double z4 = z2 * z2;
  const double p1 = 0x1.5555555555555p-1 + z * 0x1.999999999999ap-2;
  const double p3 = 0x1.2492492492492p-2 + z * 0x1.c71c71c71c71cp-3;
  const double p5 = 0x1.745d1745d1746p-3 + z * 0x1.3b13b13b13b14p-3;
  const double p7 = 0x1.1111111111111p-3 + z * 0x1.e1e1e1e1e1e1ep-4;
  const double p9 = 0x1.af286bca1af28p-4 + z * 0x1.8618618618618p-4;
  const double series = z * ((p1 + z2 * p3) + z4 * ((p5 + z2 * p7) + z4 * p9));
  // log(1 + f) = f - (h - s (h + series)) with h = f^2 / 2: the large part, f, is exact.
  const double h = 0.5 * f * f;
  return exponent * kLn2High - ((h - (s * (h + series) + exponent * kLn2Middle)) - f);
}

double expm1(double x) {
  if (std::fabs(x) < 0x1.0p-54) return x;
  const double power = exp(x);
  if (power == 1.0) return x;
  if (power - 1.0 == -1.0) return -1.0;
  if (power == kInfinity) return power;
  // The rounding error of exp cancels between numerator and denominator (Kahan).
  return (power - 1.0) * x / log(power);
}

double log1p(double x) {
  if (std::fabs(x) < 0x1.0p-54) return x;
  const double sum = 1.0 + x;
  if (sum == 1.0) return x;
  if (sum == kInfinity) return sum;
  if (!(sum > 0.0)) return log(sum);
  // As in expm1: what 1 + x lost by rounding is put back by the quotient.
  return log(sum) * (x / (sum - 1.0));
}

double pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  const double size = std::fabs(x);
  if (std::isinf(y)) {
    if (size == 1.0) return 1.0;
    return (size > 1.0) == (y > 0.0) ? kInfinity : 0.0;
  }
  const bool negative = std::signbit(x) && is_odd_integer(y);
  const double sign = negative ? -1.0 : 1.0;
  if (size == 0.0) return sign * (y > 0.0 ? 0.0 : kInfinity);
  if (size == kInfinity) return sign * (y > 0.0 ? kInfinity : 0.0);
  if (x < 0.0 && !is_integer(y)) return kNaN;
  if (size == 1.0) return sign;
  return sign * pow_of_positive(size, y);
}

double sin_of_turns(double turns) {
  if (!std::isfinite(turns)) return kNaN;
  // All reductions are exact: to [-1/2, 1/2], then to [-1/4, 1/4] by symmetry about a quarter turn.
  double part = turns - std::floor(turns);
  if (part >= 0.5) part -= 1.0;
  if (part > 0.25) part = 0.5 - part;
  if (part < -0.25) part = -0.5 - part;
  if (part == 0.25 || part == -0.25) return part * 4.0;
  constexpr double kTwoPi = 0x1.921fb54442d18p+2;
  const double a = kTwoPi * part;
  const double q = a * a;
  // Taylor to a^21 / 21!: below 2^-53 for a <= pi / 2.
  double sum = 1.0;
  for (int n = 21; n >= 3; n -= 2) sum = 1.0 - q / static_cast<double>(n * (n - 1)) * sum;
  return a * sum;
}

}  // namespace orrery::math
