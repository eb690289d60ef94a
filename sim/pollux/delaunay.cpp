#include "sim/pollux/delaunay.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace orrery::sim {

namespace {

constexpr int kFacetCorners = static_cast<int>(SimplexMesh::kCorners);

/// What Qhull would print, kept as text.
class Messages {
 public:
  Messages() : stream_(open_memstream(&text_, &size_)) {}

  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  ~Messages() {
    std::fclose(stream_);
    std::free(text_);
  }

  FILE* stream() { return stream_; }

  /// Up to the first empty line: what failed, without the advice on other options.
  std::string first_paragraph() {
    std::fflush(stream_);
    std::string text(text_, size_);
    return text.substr(0, text.find("\n\n"));
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  FILE* stream_;
};

/// Owns one run of the reentrant library.
class Qhull {
 public:
  Qhull() : state_(std::make_unique<qhT>()) { qh_zero(state_.get(), messages_.stream()); }

  Qhull(const Qhull&) = delete;
  Qhull& operator=(const Qhull&) = delete;

  ~Qhull() {
    int blocks = 0;
    int bytes = 0;
    qh_freeqhull(state_.get(), qh_ALL);
    qh_memfreeshort(state_.get(), &blocks, &bytes);
  }

  bool run(std::vector<double>& coordinates, int points) {
    char options[] = "qhull d Qbb Qc Qz Q12 Qt";
    return qh_new_qhull(state_.get(),
                        static_cast<int>(SimplexMesh::kAxes),
                        points,
                        coordinates.data(),
                        False,
                        options,
                        nullptr,
                        messages_.stream()) == 0;
  }

  qhT* state() { return state_.get(); }

  std::string message() { return messages_.first_paragraph(); }

 private:
  Messages messages_;
  std::unique_ptr<qhT> state_;
};

bool in_triangulation(const qhT* qhull, const facetT* facet) {
  return facet->upperdelaunay == qhull->UPPERdelaunay;
}

/// Position of each facet of the triangulation in Qhull's list, by facet id; -1 for the others.
std::vector<int> number_facets(const qhT* qhull) {
  std::vector<int> numbers(qhull->facet_id, -1);
  int next = 0;
  for (const facetT* facet = qhull->facet_list; facet && facet->next; facet = facet->next) {
    if (in_triangulation(qhull, facet)) numbers[facet->id] = next++;
  }
  return numbers;
}

SimplexMesh::Simplex simplex_of(qhT* qhull, const facetT* facet, const std::vector<int>& numbers) {
  SimplexMesh::Simplex simplex{};
  for (int k = 0; k < kFacetCorners; ++k) {
    const auto corner = static_cast<std::size_t>(k);
    const auto* vertex = static_cast<const vertexT*>(facet->vertices->e[k].p);
    const auto* neighbour = static_cast<const facetT*>(facet->neighbors->e[k].p);
    simplex.corners[corner] = qh_pointid(qhull, vertex->point);
    simplex.neighbours[corner] = numbers[neighbour->id];
    simplex.normal[corner] = facet->normal[k];
  }
  simplex.offset = facet->offset;
  return simplex;
}

}  // namespace

Result<SimplexMesh> delaunay(std::vector<SimplexMesh::Point> points) {
  std::vector<double> coordinates;
  coordinates.reserve(points.size() * SimplexMesh::kAxes);
  for (const SimplexMesh::Point& point : points) {
    coordinates.insert(coordinates.end(), point.begin(), point.end());
  }
  Qhull run;
  if (!run.run(coordinates, static_cast<int>(points.size()))) {
    return Error{.subject = "Delaunay triangulation",
                 .message = run.message() + "; measure points that differ in all three axes"};
  }
  qhT* qhull = run.state();
  SimplexMesh mesh;
  mesh.points = std::move(points);
  // Qhull scales the lifted coordinate ("Qbb"); a point that asks has to be lifted alike.
  mesh.lift_scale = qhull->last_newhigh / (qhull->last_high - qhull->last_low);
  mesh.lift_shift = -qhull->last_low * mesh.lift_scale;
  const std::vector<int> numbers = number_facets(qhull);
  for (const facetT* facet = qhull->facet_list; facet && facet->next; facet = facet->next) {
    if (!in_triangulation(qhull, facet)) continue;
    if (qh_setsize(qhull, facet->vertices) != kFacetCorners ||
        qh_setsize(qhull, facet->neighbors) != kFacetCorners) {
      return Error{.subject = "Delaunay triangulation",
                   .message = "Qhull left a facet that is no simplex; remove repeated points"};
    }
    mesh.simplices.push_back(simplex_of(qhull, facet, numbers));
  }
  return mesh;
}

}  // namespace orrery::sim
