// The two functions that stand in for LAPACK's.
#include "policies/solver/dense_factors.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/random.hpp"
#include "policies/solver/program.hpp"

namespace orrery::solver {
namespace {

using ::testing::AnyOf;
using ::testing::IsNull;

/// A square matrix by columns, drawn from a seed.
struct Matrix {
  Matrix(std::int32_t size, std::uint64_t seed) : n(size), a(cells()) {
    Random random(seed);
    for (double& each : a) each = static_cast<double>(random.between(-100, 100));
  }

  std::size_t cells() const { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }

  double at(std::int32_t row, std::int32_t column) const {
    return a[static_cast<std::size_t>(column * n + row)];
  }

  std::int32_t n;
  std::vector<double> a;
};

void expect_solved(const Matrix& matrix, char trans, std::uint64_t seed) {
  const std::int32_t n = matrix.n;
  std::vector<double> wanted;
  for (std::int32_t i = 0; i < n; ++i) wanted.push_back(i % 7 - 3);
  std::vector<double> right(static_cast<std::size_t>(n), 0);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j)
      right[static_cast<std::size_t>(i)] +=
          (trans == 'N' ? matrix.at(i, j) : matrix.at(j, i)) * wanted[static_cast<std::size_t>(j)];
  std::vector<double> factors = matrix.a;
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
  std::int32_t info = -1;
  const std::int32_t one = 1;
  dgetrf_(&n, &n, factors.data(), &n, pivots.data(), &info);
  ASSERT_EQ(info, 0);
  dgetrs_(&trans, &n, &one, factors.data(), &n, pivots.data(), right.data(), &n, &info, 1);
  ASSERT_EQ(info, 0);
  for (std::int32_t i = 0; i < n; ++i)
    EXPECT_NEAR(right[static_cast<std::size_t>(i)], wanted[static_cast<std::size_t>(i)], 1e-6)
        << trans << " seed " << seed << " row " << i;
}

TEST(DenseFactors, SolveWhatTheyFactored) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const std::int32_t size : {1, 2, 5, 40})
      for (const char trans : {'N', 'T'}) expect_solved(Matrix(size, seed), trans, seed);
}

TEST(DenseFactors, NameTheFirstZeroOfTheDiagonal) {
  std::vector<double> a{1, 2, 2, 4};  // The second column is twice the first.
  std::vector<std::int32_t> pivots(2);
  const std::int32_t n = 2;
  std::int32_t info = 0;
  dgetrf_(&n, &n, a.data(), &n, pivots.data(), &info);
  EXPECT_EQ(info, 2);
}

// Otherwise the library would take those of the BLAS that this machine has chosen. As an archive it
// is bound to ours by the linker, and no shared library may bring others.
TEST(DenseFactors, AreThoseThatTheLibraryFinds) {
  EXPECT_THAT(dlsym(RTLD_DEFAULT, "dgetrf_"), AnyOf(IsNull(), reinterpret_cast<void*>(&dgetrf_)));
  EXPECT_THAT(dlsym(RTLD_DEFAULT, "dgetrs_"), AnyOf(IsNull(), reinterpret_cast<void*>(&dgetrs_)));
}

}  // namespace
}  // namespace orrery::solver
