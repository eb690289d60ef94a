// Ranks of a worker group as a grid with named axes: which rank sits at which coordinates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::workers {

/// One coordinate: the index along a named axis.
struct AxisIndex {
  std::string_view axis;
  std::int32_t index = 0;
};

/// A grid of ranks, each at one place. Axes are named and stand from the outermost to the
/// innermost; ranks are kept row by row, the last axis running fastest.
///
/// {"dp", "pp", "tp"} of 1 x 2 x 4 over ranks 0..7: dp=0, pp=1, tp=2 is rank 6.
///
/// Every refusal says what was found, what was needed and how to mend it. Codes: InvalidInput for
/// a grid that cannot be, NotFound for an axis, an index or a rank that it does not have.
class NamedSharding {
 public:
  /// `shape` holds the size of each axis, at least 1. `ranks` are their product, each once, none
  /// negative; they need not be dense.
  static Result<NamedSharding> make(std::vector<std::string> names,
                                    std::vector<std::int32_t> shape,
                                    std::vector<std::int32_t> ranks);

  /// Ranks 0, 1, 2 ... row by row.
  static Result<NamedSharding> grid(std::vector<std::string> names,
                                    std::vector<std::int32_t> shape);

  const std::vector<std::string>& names() const { return names_; }

  /// Size of each axis.
  const std::vector<std::int32_t>& shape() const { return shape_; }

  /// Row by row.
  const std::vector<std::int32_t>& ranks() const { return ranks_; }

  std::size_t size() const { return ranks_.size(); }

  bool contains(std::int32_t rank) const;

  /// Position of an axis among the names.
  Result<std::size_t> axis_index(std::string_view axis) const;

  Result<std::int32_t> axis_size(std::string_view axis) const;

  /// One index per axis, in the order of the axes. O(axes + log ranks).
  Result<std::vector<std::int32_t>> coordinates_of(std::int32_t rank) const;

  /// The rank at a place; one index per axis, in the order of the axes.
  Result<std::int32_t> rank_at(std::span<const std::int32_t> coordinates) const;

  /// The ranks at the given coordinates, axes that are not named at every index; ascending.
  Result<std::vector<std::int32_t>> ranks_where(std::span<const AxisIndex> fixed) const;

  /// What is left when some axes are fixed, in the order of the other axes; at least one is left.
  Result<NamedSharding> slice(std::span<const AxisIndex> fixed) const;

  /// The line along `axis` through `rank`: the ranks that differ from it in this index only, by
  /// index.
  Result<std::vector<std::int32_t>> ranks_along(std::string_view axis, std::int32_t rank) const;

  /// All lines along `axis`: its process groups. Each rank is in exactly one.
  Result<std::vector<std::vector<std::int32_t>>> groups_along(std::string_view axis) const;

  /// "dp=1 pp=2 tp=4: [[[0 1 2 3] [4 5 6 7]]]".
  std::string text() const;

  friend bool operator==(const NamedSharding&, const NamedSharding&) = default;

 private:
  NamedSharding() = default;

  std::size_t stride(std::size_t axis) const;
  Result<std::vector<std::int32_t>> fixed_indices(std::span<const AxisIndex> fixed) const;

  std::vector<std::string> names_;
  std::vector<std::int32_t> shape_;
  std::vector<std::int32_t> ranks_;
  std::vector<std::size_t> by_rank_;  ///< Places, ascending by the rank that sits there.
};

}  // namespace orrery::workers
