// Step times between measured points: along one batch axis, or over a simplicial mesh of
// (nodes, replicas, batch). Plain values; additions, multiplications and divisions only, so equal
// tables give equal bits everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace orrery {

/// What one training step costs at some placement and batch.
struct StepTime {
  double step_s = 0;  ///< One forward and backward pass with synchronisation, seconds.
  double sync_s = 0;  ///< The part of `step_s` that is not computation, seconds.

  /// Seconds of one accumulation micro-step: computation without synchronisation.
  double accumulation_s() const { return step_s - sync_s; }

  /// Seconds of one iteration of `accumulation_steps` micro-steps and one synchronised step.
  double iteration_s(int accumulation_steps) const {
    return step_s + accumulation_s() * accumulation_steps;
  }
};

/// Step times of one measured placement as a piecewise linear function of the batch per replica.
class StepCurve {
 public:
  struct Point {
    double batch = 0;  ///< Examples per replica and step.
    StepTime time;
  };

  /// `points` need two different batches at least; they are sorted here, equal ones keep their
  /// order.
  explicit StepCurve(std::vector<Point> points);

  /// Nothing outside the measured batches: a curve does not extrapolate.
  std::optional<StepTime> at(double batch) const;

 private:
  std::vector<Point> points_;
};

/// A triangulation of three-dimensional points, as the Delaunay importer prepares it.
struct SimplexMesh {
  static constexpr std::size_t kAxes = 3;
  static constexpr std::size_t kCorners = kAxes + 1;
  using Point = std::array<double, kAxes>;

  struct Simplex {
    std::array<int, kCorners> corners;     ///< Indices into `points`.
    std::array<int, kCorners> neighbours;  ///< The k-th lies opposite corner k; -1 is outside.
    std::array<double, kCorners> normal;   ///< Of the facet on the paraboloid.
    double offset;                         ///< Of the same facet.
  };

  std::vector<Point> points;
  std::vector<Simplex> simplices;
  double lift_scale = 1;  ///< A point is lifted to lift_scale |x|^2 + lift_shift.
  double lift_shift = 0;
};

/// Step times over (nodes, replicas, batch per replica), linear within each simplex of a mesh.
///
/// The measured grid is degenerate (many points on one sphere, flat simplices), so *which* simplex
/// answers matters: a point is located as SciPy's LinearNDInterpolator locates it, by a walk over
/// the lifted facets and then along barycentric coordinates, with its tolerances.
class StepSurface {
 public:
  /// An empty surface: `at` never answers.
  StepSurface() = default;

  /// `values` holds one step time per point of `mesh`; corner and neighbour indices are in range.
  StepSurface(SimplexMesh mesh, std::vector<StepTime> values);

  /// Nothing outside the convex hull of the measured points.
  std::optional<StepTime> at(const SimplexMesh::Point& where) const;

 private:
  using Weights = std::array<double, SimplexMesh::kCorners>;

  /// Rows 0 to 2: inverse of the edge matrix; `origin`: the last corner. Flat simplices: invalid.
  struct Transform {
    std::array<std::array<double, SimplexMesh::kAxes>, SimplexMesh::kAxes> inverse;
    SimplexMesh::Point origin;
    bool valid = false;
  };

  static constexpr int kNowhere = -1;

  static Transform transform_of(const SimplexMesh& mesh, const SimplexMesh::Simplex& simplex);
  static double weight(const Transform& transform,
                       const SimplexMesh::Point& where,
                       std::size_t corner,
                       const Weights& earlier);
  double height_over(int simplex, const std::array<double, 4>& lifted) const;
  int locate(const SimplexMesh::Point& where, Weights& weights) const;
  int climb(const SimplexMesh::Point& where) const;
  int walk(int start, const SimplexMesh::Point& where, Weights& weights) const;
  int scan(const SimplexMesh::Point& where, Weights& weights) const;
  bool inside_neighbour(int neighbour,
                        int flat,
                        const SimplexMesh::Point& where,
                        Weights& weights) const;

  SimplexMesh mesh_;
  std::vector<StepTime> values_;
  std::vector<Transform> transforms_;
  SimplexMesh::Point lowest_{};
  SimplexMesh::Point highest_{};
};

}  // namespace orrery
