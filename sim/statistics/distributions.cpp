#include "sim/statistics/distributions.hpp"

#include <array>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery::sim {
namespace {

/// 1 / sqrt(2 pi).
constexpr double kDensityAtZero = 0.3989422804014327;
/// Beyond it a double holds no difference to 0 and 1.
constexpr double kFar = 9;
constexpr double kNormal975 = 1.959963984540054;

}  // namespace

double normal_below(double x) {
  if (x < -kFar) return 0;
  if (x > kFar) return 1;
  double term = x;
  double sum = x;
  for (double odd = 3; sum + term != sum; odd += 2) {
    term *= x * x / odd;
    sum += term;
  }
  return 0.5 + sum * kDensityAtZero * math::exp(-x * x / 2);
}

double student_975(std::size_t freedom) {
  constexpr std::array kPoints{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  invariant(freedom > 0, "Student's distribution needs a degree of freedom");
  if (freedom <= kPoints.size()) return kPoints[freedom - 1];
  const double z = kNormal975;
  const double z2 = z * z;
  const auto v = static_cast<double>(freedom);
  const double first = z * (z2 + 1) / 4;
  const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  return z + first / v + second / (v * v) + third / (v * v * v);
}

}  // namespace orrery::sim
