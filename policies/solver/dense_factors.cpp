#include "policies/solver/dense_factors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace {

/// x -= y factor, element by element.
void subtract(double* x, const double* y, double factor, std::size_t count) {
  if (factor == 0) return;
  for (std::size_t i = 0; i < count; ++i) x[i] -= y[i] * factor;
}

/// The first row at or after `from` whose element of the column is largest.
std::size_t largest(const double* column, std::size_t from, std::size_t rows) {
  std::size_t best = from;
  for (std::size_t i = from + 1; i < rows; ++i)
    if (std::fabs(column[i]) > std::fabs(column[best])) best = i;
  return best;
}

struct Factors {
  const double* a;
  std::size_t n;
  std::size_t apart;
  const std::int32_t* pivots;

  const double* column(std::size_t j) const { return a + j * apart; }

  void solve(double* b) const {
    for (std::size_t i = 0; i < n; ++i) std::swap(b[i], b[static_cast<std::size_t>(pivots[i]) - 1]);
    for (std::size_t j = 0; j < n; ++j) subtract(b + j + 1, column(j) + j + 1, b[j], n - j - 1);
    for (std::size_t j = n; j-- > 0;) {
      b[j] /= column(j)[j];
      subtract(b, column(j), b[j], j);
    }
  }

  void solve_transposed(double* b) const {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < j; ++i) b[j] -= column(j)[i] * b[i];
      b[j] /= column(j)[j];
    }
    for (std::size_t j = n; j-- > 0;)
      for (std::size_t i = j + 1; i < n; ++i) b[j] -= column(j)[i] * b[i];
    for (std::size_t i = n; i-- > 0;) std::swap(b[i], b[static_cast<std::size_t>(pivots[i]) - 1]);
  }
};

}  // namespace

void dgetrf_(const std::int32_t* m,
             const std::int32_t* n,
             double* a,
             const std::int32_t* lda,
             std::int32_t* pivots,
             std::int32_t* info) {
  const auto rows = static_cast<std::size_t>(*m);
  const auto columns = static_cast<std::size_t>(*n);
  const auto apart = static_cast<std::size_t>(*lda);
  *info = 0;
  for (std::size_t k = 0; k < std::min(rows, columns); ++k) {
    double* pivot_column = a + k * apart;
    const std::size_t pivot = largest(pivot_column, k, rows);
    pivots[k] = static_cast<std::int32_t>(pivot) + 1;
    if (pivot_column[pivot] == 0) {
      if (*info == 0) *info = static_cast<std::int32_t>(k) + 1;
      continue;
    }
    if (pivot != k)
      for (std::size_t j = 0; j < columns; ++j) std::swap(a[j * apart + k], a[j * apart + pivot]);
    for (std::size_t i = k + 1; i < rows; ++i) pivot_column[i] /= pivot_column[k];
    for (std::size_t j = k + 1; j < columns; ++j)
      subtract(a + j * apart + k + 1, pivot_column + k + 1, a[j * apart + k], rows - k - 1);
  }
}

void dgetrs_(const char* trans,
             const std::int32_t* n,
             const std::int32_t* nrhs,
             const double* a,
             const std::int32_t* lda,
             const std::int32_t* pivots,
             double* b,
             const std::int32_t* ldb,
             std::int32_t* info,
             int /*trans_length*/) {
  const Factors factors{a, static_cast<std::size_t>(*n), static_cast<std::size_t>(*lda), pivots};
  for (std::size_t k = 0; k < static_cast<std::size_t>(*nrhs); ++k) {
    double* right = b + k * static_cast<std::size_t>(*ldb);
    if (*trans == 'N' || *trans == 'n') {
      factors.solve(right);
    } else {
      factors.solve_transposed(right);
    }
  }
  *info = 0;
}
