#include "policies/share_centre.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace orrery::policies {
namespace {

/// A small square matrix by rows.
using Matrix = std::vector<std::vector<double>>;

Matrix zeros(std::size_t n) { return Matrix(n, std::vector<double>(n)); }

/// Solves A x = b for a symmetric positive definite A, whose lower part becomes its Cholesky
/// factor.
class PositiveSystem {
 public:
  explicit PositiveSystem(Matrix a) : factor_(std::move(a)) {
    for (std::size_t i = 0; i < factor_.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double left = factor_[i][j];
        for (std::size_t k = 0; k < j; ++k) left -= factor_[i][k] * factor_[j][k];
        factor_[i][j] = i == j ? std::sqrt(left) : left / factor_[j][j];
      }
  }

  std::vector<double> solve(std::vector<double> b) const {
    const std::size_t n = b.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= factor_[i][k] * b[k];
      b[i] /= factor_[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) b[i] -= factor_[k][i] * b[k];
      b[i] /= factor_[i][i];
    }
    return b;
  }

 private:
  Matrix factor_;
};

/// -sum of the logarithms of all slacks, by its gradient and Hessian at x. The Hessian is a block
/// for each job, B, and for each type the product of a column with itself: H = B + A C A^T with
/// A_(ij),j = k_i and C_jj = 1 / (slack of j)^2.
class Barrier {
 public:
  Barrier(const Sharing& sharing, const std::vector<double>& needed)
      : sharing_(sharing), needed_(needed) {
    for (std::size_t j = 0; j < sharing.devices.size(); ++j)
      if (sharing.devices[j] > 0) types_.push_back(j);
  }

  /// The Newton step at `x` and the square of its decrement.
  std::pair<Shares, double> step(const Shares& x) const {
    const std::size_t n = types_.size();
    std::vector<double> free;  // Devices of each type that x leaves.
    for (const std::size_t type : types_) {
      free.push_back(sharing_.devices[type]);
      for (std::size_t i = 0; i < x.size(); ++i)
        free.back() -= sharing_.jobs[i].devices * x[i][type];
    }
    // H d = -g by Woodbury: with y = B^-1 g and Z = B^-1 A, d = Z (C^-1 + A^T Z)^-1 A^T y - y.
    std::vector<std::vector<double>> gradients;
    std::vector<std::vector<double>> y;
    std::vector<Matrix> z;  // Of each job: its columns, those of Z that are not 0, one for a type.
    Matrix small = zeros(n);
    std::vector<double> right(n);
    for (std::size_t a = 0; a < n; ++a) small[a][a] = free[a] * free[a];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double devices = sharing_.jobs[i].devices;
      auto [gradient, block] = of_job(i, x[i]);
      for (std::size_t a = 0; a < n; ++a) gradient[a] += devices / free[a];
      const PositiveSystem system(std::move(block));
      y.push_back(system.solve(gradient));
      z.emplace_back();
      for (std::size_t a = 0; a < n; ++a) {
        std::vector<double> column(n);
        column[a] = devices;
        z.back().push_back(system.solve(std::move(column)));
        for (std::size_t b = 0; b < n; ++b) small[b][a] += devices * z.back()[a][b];
        right[a] += devices * y.back()[a];
      }
      gradients.push_back(std::move(gradient));
    }
    const std::vector<double> weight = PositiveSystem(std::move(small)).solve(std::move(right));
    Shares out(x.size(), std::vector<double>(sharing_.devices.size()));
    double decrement = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t a = 0; a < n; ++a) {
        double d = -y[i][a];
        for (std::size_t b = 0; b < n; ++b) d += z[i][b][a] * weight[b];
        out[i][types_[a]] = d;
        decrement -= gradients[i][a] * d;
      }
    return {std::move(out), decrement};
  }

 private:
  /// Gradient and block of one job, without what it shares with the others.
  std::pair<std::vector<double>, Matrix> of_job(std::size_t i, const std::vector<double>& x) const {
    const std::size_t n = types_.size();
    const SharingJob& job = sharing_.jobs[i];
    double time_left = 1;
    for (const std::size_t type : types_) time_left -= x[type];
    const double spare = job.speed_under(x) - needed_[i];
    std::vector<double> gradient(n);
    Matrix block = zeros(n);
    for (std::size_t a = 0; a < n; ++a) {
      const double share = x[types_[a]];
      const double speed = job.speed[types_[a]];
      gradient[a] = 1 / time_left - 1 / share - speed / spare;
      for (std::size_t b = 0; b < n; ++b)
        block[a][b] = 1 / (time_left * time_left) + speed * job.speed[types_[b]] / (spare * spare);
      block[a][a] += 1 / (share * share);
    }
    return {std::move(gradient), std::move(block)};
  }

  const Sharing& sharing_;
  const std::vector<double>& needed_;
  std::vector<std::size_t> types_;
};

}  // namespace

Shares centre_of(const Sharing& sharing, const std::vector<double>& needed, Shares inside) {
  constexpr int kSteps = 200;
  constexpr double kNear = 1e-18;  // Of the squared decrement.
  constexpr double kFullStep = 0.0625;
  const Barrier barrier(sharing, needed);
  for (int done = 0; done < kSteps; ++done) {
    const auto [step, decrement] = barrier.step(inside);
    if (!(decrement > kNear)) break;
    // The function is self-concordant: this length stays inside the bounds and comes nearer.
    const double length = decrement < kFullStep ? 1 : 1 / (1 + std::sqrt(decrement));
    for (std::size_t i = 0; i < inside.size(); ++i)
      for (std::size_t j = 0; j < inside[i].size(); ++j) inside[i][j] += length * step[i][j];
  }
  return inside;
}

}  // namespace orrery::policies
