#include "core/models/interpolation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// SciPy's tolerances for a weight inside [0, 1], and for one that leaks into a flat neighbour.
constexpr double kTolerance = 100 * kEpsilon;
constexpr double kBroadTolerance = 0x1p-26;  // The square root of epsilon, exactly.
// A simplex is flat where its edge matrix keeps fewer than three significant digits.
constexpr double kFlatCondition = 1000 * kEpsilon;

using Matrix = std::array<std::array<double, 3>, 3>;

double column_norm(const Matrix& matrix) {
  double largest = 0;
  for (std::size_t column = 0; column < 3; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < 3; ++row) sum += std::fabs(matrix[row][column]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Gauss-Jordan with row exchange; false for a matrix without an inverse.
bool invert(Matrix matrix, Matrix& inverse) {
  inverse = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (std::size_t column = 0; column < 3; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < 3; ++row) {
      if (std::fabs(matrix[row][column]) > std::fabs(matrix[pivot][column])) pivot = row;
    }
    if (matrix[pivot][column] == 0) return false;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(inverse[pivot], inverse[column]);
    const double scale = matrix[column][column];
    for (std::size_t k = 0; k < 3; ++k) {
      matrix[column][k] /= scale;
      inverse[column][k] /= scale;
    }
    for (std::size_t row = 0; row < 3; ++row) {
      if (row == column) continue;
      const double factor = matrix[row][column];
      for (std::size_t k = 0; k < 3; ++k) {
        matrix[row][k] -= factor * matrix[column][k];
        inverse[row][k] -= factor * inverse[column][k];
      }
    }
  }
  return true;
}

bool within(double weight, double below, double above) {
  return weight >= -below && weight <= 1 + above;
}

}  // namespace

StepCurve::StepCurve(std::vector<Point> points) : points_(std::move(points)) {
  std::stable_sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return a.batch < b.batch;
  });
  invariant(points_.size() >= 2, "a step curve has two points at least");
}

std::optional<StepTime> StepCurve::at(double batch) const {
  if (!(batch >= points_.front().batch && batch <= points_.back().batch)) return std::nullopt;
  const auto found = std::lower_bound(
      points_.begin(), points_.end(), batch, [](const Point& point, double wanted) {
        return point.batch < wanted;
      });
  // A batch on the first point belongs to the first piece.
  const auto upper = found == points_.begin() ? found + 1 : found;
  const auto lower = upper - 1;
  const double width = upper->batch - lower->batch;
  const double step_slope = (upper->time.step_s - lower->time.step_s) / width;
  const double sync_slope = (upper->time.sync_s - lower->time.sync_s) / width;
  return StepTime{step_slope * (batch - lower->batch) + lower->time.step_s,
                  sync_slope * (batch - lower->batch) + lower->time.sync_s};
}

StepSurface::StepSurface(SimplexMesh mesh, std::vector<StepTime> values)
    : mesh_(std::move(mesh)), values_(std::move(values)) {
  invariant(values_.size() == mesh_.points.size(), "a surface has one value per point");
  if (mesh_.points.empty()) return;
  lowest_ = highest_ = mesh_.points.front();
  for (const SimplexMesh::Point& point : mesh_.points) {
    for (std::size_t axis = 0; axis < SimplexMesh::kAxes; ++axis) {
      lowest_[axis] = std::min(lowest_[axis], point[axis]);
      highest_[axis] = std::max(highest_[axis], point[axis]);
    }
  }
  transforms_.reserve(mesh_.simplices.size());
  for (const SimplexMesh::Simplex& simplex : mesh_.simplices) {
    transforms_.push_back(transform_of(mesh_, simplex));
  }
}

StepSurface::Transform StepSurface::transform_of(const SimplexMesh& mesh,
                                                 const SimplexMesh::Simplex& simplex) {
  Transform transform;
  transform.origin = mesh.points[static_cast<std::size_t>(simplex.corners[SimplexMesh::kAxes])];
  Matrix edges;
  for (std::size_t axis = 0; axis < SimplexMesh::kAxes; ++axis) {
    for (std::size_t corner = 0; corner < SimplexMesh::kAxes; ++corner) {
      const auto index = static_cast<std::size_t>(simplex.corners[corner]);
      edges[axis][corner] = mesh.points[index][axis] - transform.origin[axis];
    }
  }
  if (!invert(edges, transform.inverse)) return transform;
  Matrix transposed;  // The artifact's routine measures the condition of the transposed matrix.
  Matrix transposed_inverse;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      transposed[row][column] = edges[column][row];
      transposed_inverse[row][column] = transform.inverse[column][row];
    }
  }
  transform.valid =
      1 / (column_norm(transposed) * column_norm(transposed_inverse)) >= kFlatCondition;
  return transform;
}

double StepSurface::weight(const Transform& transform,
                           const SimplexMesh::Point& where,
                           std::size_t corner,
                           const Weights& earlier) {
  if (corner == SimplexMesh::kAxes) return 1.0 - earlier[0] - earlier[1] - earlier[2];
  double sum = 0;
  for (std::size_t axis = 0; axis < SimplexMesh::kAxes; ++axis) {
    sum += transform.inverse[corner][axis] * (where[axis] - transform.origin[axis]);
  }
  return sum;
}

double StepSurface::height_over(int simplex, const std::array<double, 4>& lifted) const {
  const SimplexMesh::Simplex& facet = mesh_.simplices[static_cast<std::size_t>(simplex)];
  double height = facet.offset;
  for (std::size_t k = 0; k < lifted.size(); ++k) height += facet.normal[k] * lifted[k];
  return height;
}

/// Goes to a neighbouring facet as long as that is nearer to seeing the lifted point, and stops at
/// the first facet that sees it. Moves in the middle of a round over the neighbours, on purpose.
int StepSurface::climb(const SimplexMesh::Point& where) const {
  std::array<double, 4> lifted{where[0], where[1], where[2], 0};
  for (const double x : where) lifted[3] += x * x;
  lifted[3] = lifted[3] * mesh_.lift_scale + mesh_.lift_shift;

  int current = 0;
  double best = height_over(current, lifted);
  bool moved = true;
  while (moved && best <= 0) {
    moved = false;
    for (std::size_t k = 0; k < SimplexMesh::kCorners; ++k) {
      const int next = mesh_.simplices[static_cast<std::size_t>(current)].neighbours[k];
      if (next == kNowhere) continue;
      const double height = height_over(next, lifted);
      if (height > best + kTolerance * (1 + std::fabs(best))) {
        current = next;
        best = height;
        moved = true;
      }
    }
  }
  return current;
}

/// Steps over the first face that has the point on its other side until none has.
int StepSurface::walk(int start, const SimplexMesh::Point& where, Weights& weights) const {
  int current = start;
  const std::size_t steps_max = 1 + mesh_.simplices.size() / 4;
  for (std::size_t step = 0; step < steps_max; ++step) {
    const auto index = static_cast<std::size_t>(current);
    const Transform& transform = transforms_[index];
    if (!transform.valid) return scan(where, weights);
    bool inside = true;
    bool stepped = false;
    for (std::size_t k = 0; k < SimplexMesh::kCorners && !stepped; ++k) {
      weights[k] = weight(transform, where, k, weights);
      if (weights[k] < -kTolerance) {
        current = mesh_.simplices[index].neighbours[k];
        if (current == kNowhere) return kNowhere;
        stepped = true;
      } else if (!(weights[k] <= 1 + kTolerance)) {
        inside = false;
      }
    }
    if (stepped) continue;
    return inside ? current : scan(where, weights);
  }
  return scan(where, weights);  // Rounding led the walk in a circle.
}

bool StepSurface::inside_neighbour(int neighbour,
                                   int flat,
                                   const SimplexMesh::Point& where,
                                   Weights& weights) const {
  const auto index = static_cast<std::size_t>(neighbour);
  for (std::size_t k = 0; k < SimplexMesh::kCorners; ++k) {
    weights[k] = weight(transforms_[index], where, k, weights);
  }
  for (std::size_t k = 0; k < SimplexMesh::kCorners; ++k) {
    const bool towards_flat = mesh_.simplices[index].neighbours[k] == flat;
    if (!within(weights[k], towards_flat ? kBroadTolerance : kTolerance, kTolerance)) return false;
  }
  return true;
}

/// Every simplex in turn; a flat one answers through a neighbour that almost holds the point.
int StepSurface::scan(const SimplexMesh::Point& where, Weights& weights) const {
  for (std::size_t index = 0; index < mesh_.simplices.size(); ++index) {
    if (transforms_[index].valid) {
      bool inside = true;
      for (std::size_t k = 0; k < SimplexMesh::kCorners && inside; ++k) {
        weights[k] = weight(transforms_[index], where, k, weights);
        inside = within(weights[k], kTolerance, kTolerance);
      }
      if (inside) return static_cast<int>(index);
      continue;
    }
    for (const int neighbour : mesh_.simplices[index].neighbours) {
      if (neighbour == kNowhere || !transforms_[static_cast<std::size_t>(neighbour)].valid)
        continue;
      if (inside_neighbour(neighbour, static_cast<int>(index), where, weights)) return neighbour;
    }
  }
  return kNowhere;
}

int StepSurface::locate(const SimplexMesh::Point& where, Weights& weights) const {
  if (mesh_.simplices.empty()) return kNowhere;
  for (std::size_t axis = 0; axis < SimplexMesh::kAxes; ++axis) {
    if (!(where[axis] >= lowest_[axis] - kTolerance &&
          where[axis] <= highest_[axis] + kTolerance)) {
      return kNowhere;
    }
  }
  return walk(climb(where), where, weights);
}

std::optional<StepTime> StepSurface::at(const SimplexMesh::Point& where) const {
  Weights weights{};
  const int found = locate(where, weights);
  if (found == kNowhere) return std::nullopt;
  const SimplexMesh::Simplex& simplex = mesh_.simplices[static_cast<std::size_t>(found)];
  StepTime time;
  for (std::size_t k = 0; k < SimplexMesh::kCorners; ++k) {
    const StepTime& corner = values_[static_cast<std::size_t>(simplex.corners[k])];
    time.step_s += weights[k] * corner.step_s;
    time.sync_s += weights[k] * corner.sync_s;
  }
  return time;
}

}  // namespace orrery
