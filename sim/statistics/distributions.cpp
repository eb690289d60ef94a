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
  constexpr std::array kPoints{
      12.706204736, 4.3026527297, 3.1824463053, 2.7764451052, 2.5705818356, 2.4469118511,
      2.3646242516, 2.3060041352, 2.2621571628, 2.228138852,  2.2009851601, 2.1788128297,
      2.1603686565, 2.1447866879, 2.1314495456, 2.1199052992, 2.1098155778, 2.1009220402,
      2.0930240544, 2.0859634473, 2.0796138447, 2.0738730679, 2.0686576104, 2.0638985616,
      2.0595385528, 2.0555294386, 2.0518305165, 2.0484071418, 2.0452296421, 2.0422724563};
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
