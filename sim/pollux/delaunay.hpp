// Delaunay triangulation by Qhull, as SciPy asks for it.
#pragma once

#include <vector>

#include "core/base/result.hpp"
#include "core/models/interpolation.hpp"

namespace orrery::sim {

/// Triangulates `points` with the options of SciPy's three-dimensional Delaunay ("Qbb Qc Qz Q12
/// Qt"). The order of the points matters where more than four lie on one sphere: there the
/// triangulation is not unique, and Qhull's choice follows its input. Fails with Qhull's own words
/// on fewer than five points or points in one plane.
Result<SimplexMesh> delaunay(std::vector<SimplexMesh::Point> points);

}  // namespace orrery::sim
