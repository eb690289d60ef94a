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

/// -sum of the logarithms of all slacks, by its gradient and Hessian at x. What jobs share is a row
/// r each, with coefficients a_r(ij): the devices of a type, or the sum of all speeds. The Hessian
/// is a block for each job, B, and for each such row the product of a column with itself:
/// H = B + A C A^T with C_rr = 1 / (slack of r)^2.
class Barrier {
 public:
  Barrier(const Sharing& sharing, const CentreBounds& bounds) : sharing_(sharing), bounds_(bounds) {
    for (std::size_t j = 0; j < sharing.devices.size(); ++j)
      if (sharing.devices[j] > 0) types_.push_back(j);
    rows_ = types_.size() + (std::isinf(bounds.all) ? 0 : 1);
  }

  /// Whether every slack is above 0.
  bool contains(const Shares& x) const {
    for (const double slack : row_slacks(x))
      if (!(slack > 0)) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!(time_left(x[i]) > 0) || !(spare(i, x[i]) > 0)) return false;
      for (const std::size_t type : types_)
        if (!(x[i][type] > 0)) return false;
    }
    return true;
  }

  /// The Newton step at `x` and the square of its decrement.
  std::pair<Shares, double> step(const Shares& x) const {
    const std::size_t n = types_.size();
    const std::vector<double> slack = row_slacks(x);
    // H d = -g by Woodbury: with y = B^-1 g and Z = B^-1 A, d = Z (C^-1 + A^T Z)^-1 A^T y - y.
    std::vector<std::vector<double>> gradients;
    std::vector<std::vector<double>> y;
    std::vector<Matrix> z;  // Of each job: its part of Z's columns, one for a row.
    Matrix small = zeros(rows_);
    std::vector<double> right(rows_);
    for (std::size_t r = 0; r < rows_; ++r) small[r][r] = slack[r] * slack[r];
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto [gradient, block] = of_job(i, x[i]);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t r = 0; r < rows_; ++r) gradient[a] += coefficient(r, i, a) / slack[r];
      const PositiveSystem system(std::move(block));
      y.push_back(system.solve(gradient));
      z.emplace_back();
      for (std::size_t r = 0; r < rows_; ++r) {
        std::vector<double> column(n);
        for (std::size_t a = 0; a < n; ++a) column[a] = coefficient(r, i, a);
        z.back().push_back(system.solve(std::move(column)));
        for (std::size_t a = 0; a < n; ++a) {
          for (std::size_t q = 0; q < rows_; ++q)
            small[q][r] += coefficient(q, i, a) * z.back()[r][a];
          right[r] += coefficient(r, i, a) * y.back()[a];
        }
      }
      gradients.push_back(std::move(gradient));
    }
    const std::vector<double> weight = PositiveSystem(std::move(small)).solve(std::move(right));
    Shares out(x.size(), std::vector<double>(sharing_.devices.size()));
    double decrement = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t a = 0; a < n; ++a) {
        double d = -y[i][a];
        for (std::size_t r = 0; r < rows_; ++r) d += z[i][r][a] * weight[r];
        out[i][types_[a]] = d;
        decrement -= gradients[i][a] * d;
      }
    return {std::move(out), decrement};
  }

 private:
  /// Of row `r`, whose slack falls by so much with the job's share of `types_[a]`.
  double coefficient(std::size_t r, std::size_t job, std::size_t a) const {
    if (r == types_.size()) return -sharing_.jobs[job].speed[types_[a]];
    return r == a ? sharing_.jobs[job].devices : 0;
  }

  std::vector<double> row_slacks(const Shares& x) const {
    std::vector<double> slack;
    for (const std::size_t type : types_) slack.push_back(sharing_.devices[type]);
    if (rows_ > types_.size()) slack.push_back(-bounds_.all);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t a = 0; a < types_.size(); ++a)
        for (std::size_t r = 0; r < rows_; ++r) slack[r] -= coefficient(r, i, a) * x[i][types_[a]];
    return slack;
  }

  double time_left(const std::vector<double>& x) const {
    double left = 1;
    for (const std::size_t type : types_) left -= x[type];
    return left;
  }

  /// Steps a second above those that the job needs; infinity where it needs none.
  double spare(std::size_t job, const std::vector<double>& x) const {
    return sharing_.jobs[job].speed_under(x) - bounds_.needed[job];
  }

  /// Gradient and block of one job, without what it shares with the others.
  std::pair<std::vector<double>, Matrix> of_job(std::size_t i, const std::vector<double>& x) const {
    const std::size_t n = types_.size();
    const SharingJob& job = sharing_.jobs[i];
    const double left = time_left(x);
    const double above = spare(i, x);
    double first = 1 / above;             // Of the speed's part, the negative of the derivative,
    double second = 1 / (above * above);  // and the second one.
    if (bounds_.of_times && !std::isinf(above)) {
      const double speed = job.speed_under(x);
      first = 2 * first - 1 / speed;
      second = 2 * second - 1 / (speed * speed);
    }
    std::vector<double> gradient(n);
    Matrix block = zeros(n);
    for (std::size_t a = 0; a < n; ++a) {
      const double share = x[types_[a]];
      const double speed = job.speed[types_[a]];
      gradient[a] = 1 / left - 1 / share - speed * first;
      for (std::size_t b = 0; b < n; ++b)
        block[a][b] = 1 / (left * left) + speed * job.speed[types_[b]] * second;
      block[a][a] += 1 / (share * share);
    }
    return {std::move(gradient), std::move(block)};
  }

  const Sharing& sharing_;
  const CentreBounds& bounds_;
  std::vector<std::size_t> types_;
  std::size_t rows_ = 0;
};

}  // namespace

namespace {

/// Damped Newton steps until the square of the decrement is `near` or less, or rounding ends it.
Shares walk(const Barrier& barrier, Shares inside, double near) {
  constexpr int kSteps = 200;
  constexpr double kFullStep = 0.0625;
  for (int done = 0; done < kSteps; ++done) {
    const auto [step, decrement] = barrier.step(inside);
    if (!(decrement > near)) break;
    // The function is self-concordant: this length stays inside the bounds and comes nearer.
    const double length = decrement < kFullStep ? 1 : 1 / (1 + std::sqrt(decrement));
    Shares next = inside;
    for (std::size_t i = 0; i < next.size(); ++i)
      for (std::size_t j = 0; j < next[i].size(); ++j) next[i][j] += length * step[i][j];
    if (!barrier.contains(next)) break;
    inside = std::move(next);
  }
  return inside;
}

}  // namespace

Shares centre_of(const Sharing& sharing, const CentreBounds& bounds, Shares inside) {
  constexpr double kNear = 1e-18;  // Of the squared decrement.
  return walk(Barrier(sharing, bounds), std::move(inside), kNear);
}

Shares centre_near(const Sharing& sharing,
                   const Shares& best,
                   Shares inside,
                   const std::function<CentreBounds(double gap)>& bounds_at) {
  constexpr double kLast = 0.99e-7;
  constexpr double kNearer = 0.1;
  constexpr double kKept = 0.05;  // Less than `kNearer`: the next bounds hold with room.
  constexpr double kNear = 1e-8;  // Of the squared decrement: slacks are right to 10^-4.
  for (double gap = 1; gap > kLast; gap *= kNearer) {
    const CentreBounds bounds = bounds_at(gap);
    const Barrier barrier(sharing, bounds);
    Shares start = inside;
    if (gap < 1)
      for (std::size_t i = 0; i < start.size(); ++i)
        for (std::size_t j = 0; j < start[i].size(); ++j)
          start[i][j] = best[i][j] + kKept * (start[i][j] - best[i][j]);
    // The optimum is one to what the solver takes for equal.
    if (!barrier.contains(start)) break;
    inside = walk(barrier, std::move(start), kNear);
  }
  return inside;
}

Shares half_isolated(const Sharing& sharing) {
  Shares out = isolated_shares(sharing);
  for (std::vector<double>& row : out)
    for (double& share : row) share /= 2;
  return out;
}

}  // namespace orrery::policies
