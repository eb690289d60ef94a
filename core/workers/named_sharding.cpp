#include "core/workers/named_sharding.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace orrery::workers {
namespace {

// As an index of `fixed_indices`: the axis keeps all of its indices.
constexpr std::int32_t kFree = -1;

Error sharding_error(ErrorCode code, std::string message) {
  return {code, {}, 0, "named sharding", std::move(message)};
}

Error invalid(std::string message) {
  return sharding_error(ErrorCode::InvalidInput, std::move(message));
}

Error axis_not_found(std::string message) {
  return sharding_error(ErrorCode::NotFound, std::move(message));
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

/// Ranks that occur more than once, ascending, each named once.
std::vector<std::int32_t> repeated(std::vector<std::int32_t> ranks) {
  std::ranges::sort(ranks);
  std::vector<std::int32_t> out;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] == ranks[i - 1] && (out.empty() || out.back() != ranks[i]))
      out.push_back(ranks[i]);
  return out;
}

void check_axes(const std::vector<std::string>& names,
                const std::vector<std::int32_t>& shape,
                Errors& errors) {
  if (names.size() != shape.size())
    errors.push_back(invalid("found " + std::to_string(shape.size()) + " dimensions and " +
                             std::to_string(names.size()) +
                             " names, needed one name for each dimension; name every dimension"));
  if (names.empty() && shape.empty())
    errors.push_back(invalid("found no axis, needed at least one; name one axis for all ranks"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      errors.push_back(invalid("axis " + std::to_string(i) +
                               ": found an empty name, needed a name; give it one"));
    else if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
             names.begin() + static_cast<std::ptrdiff_t>(i))
      errors.push_back(
          invalid("found axis " + names[i] + " twice, needed different names; rename one"));
  }
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 1)
      errors.push_back(invalid("axis " + (i < names.size() ? names[i] : std::to_string(i)) +
                               ": found size " + std::to_string(shape[i]) +
                               ", needed at least 1; leave out an axis without ranks"));
}

/// The product of the sizes; nothing where it is above `most`.
std::optional<std::size_t> volume(const std::vector<std::int32_t>& shape, std::size_t most) {
  std::size_t out = 1;
  for (const std::int32_t size : shape) {
    if (out > most / static_cast<std::size_t>(size)) return std::nullopt;
    out *= static_cast<std::size_t>(size);
  }
  return out;
}

void check_ranks(const std::vector<std::int32_t>& shape,
                 const std::vector<std::int32_t>& ranks,
                 Errors& errors) {
  if (volume(shape, ranks.size()) != ranks.size()) {
    std::string sizes;
    for (const std::int32_t size : shape)
      sizes.append(sizes.empty() ? "" : " x ").append(std::to_string(size));
    errors.push_back(invalid("found " + std::to_string(ranks.size()) + " ranks, needed " + sizes +
                             "; give each place of the grid one rank"));
  }
  for (const std::int32_t rank : ranks)
    if (rank < 0)
      errors.push_back(invalid("found rank " + std::to_string(rank) +
                               ", needed ranks from 0; number them from 0"));
  for (const std::int32_t rank : repeated(ranks))
    errors.push_back(invalid("found rank " + std::to_string(rank) +
                             " twice, needed each rank once; give every place its own rank"));
}

}  // namespace

Result<NamedSharding> NamedSharding::make(std::vector<std::string> names,
                                          std::vector<std::int32_t> shape,
                                          std::vector<std::int32_t> ranks) {
  Errors errors;
  check_axes(names, shape, errors);
  if (errors.empty()) check_ranks(shape, ranks, errors);
  if (!errors.empty()) return errors;
  NamedSharding out;
  out.names_ = std::move(names);
  out.shape_ = std::move(shape);
  out.ranks_ = std::move(ranks);
  out.by_rank_.resize(out.ranks_.size());
  std::iota(out.by_rank_.begin(), out.by_rank_.end(), std::size_t{0});
  std::ranges::sort(out.by_rank_, {}, [&](std::size_t place) { return out.ranks_[place]; });
  return out;
}

Result<NamedSharding> NamedSharding::grid(std::vector<std::string> names,
                                          std::vector<std::int32_t> shape) {
  constexpr std::size_t kRanksMax = 1U << 24U;
  Errors errors;
  check_axes(names, shape, errors);
  if (!errors.empty()) return errors;
  const std::optional<std::size_t> size = volume(shape, kRanksMax);
  if (!size)
    return invalid("found a grid of more than " + std::to_string(kRanksMax) +
                   " ranks, needed at most as many; make it smaller");
  std::vector<std::int32_t> ranks(*size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return make(std::move(names), std::move(shape), std::move(ranks));
}

bool NamedSharding::contains(std::int32_t rank) const {
  return std::ranges::binary_search(
      by_rank_, rank, {}, [&](std::size_t place) { return ranks_[place]; });
}

Result<std::size_t> NamedSharding::axis_index(std::string_view axis) const {
  const auto found = std::ranges::find(names_, axis);
  if (found == names_.end())
    return axis_not_found("found axis '" + std::string(axis) + "', needed one of " +
                          joined(names_) + "; name an axis of the grid");
  return static_cast<std::size_t>(found - names_.begin());
}

Result<std::int32_t> NamedSharding::axis_size(std::string_view axis) const {
  const Result<std::size_t> index = axis_index(axis);
  if (!index) return index.errors();
  return shape_[*index];
}

Result<std::vector<std::int32_t>> NamedSharding::coordinates_of(std::int32_t rank) const {
  const auto found = std::ranges::lower_bound(
      by_rank_, rank, {}, [&](std::size_t place) { return ranks_[place]; });
  if (found == by_rank_.end() || ranks_[*found] != rank)
    return axis_not_found("found rank " + std::to_string(rank) + ", needed one of the " +
                          std::to_string(ranks_.size()) +
                          " ranks of the grid; give this worker a place in the grid");
  std::size_t rest = *found;
  std::vector<std::int32_t> out(shape_.size());
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    out[axis] = static_cast<std::int32_t>(rest % static_cast<std::size_t>(shape_[axis]));
    rest /= static_cast<std::size_t>(shape_[axis]);
  }
  return out;
}

Result<std::int32_t> NamedSharding::rank_at(std::span<const std::int32_t> coordinates) const {
  if (coordinates.size() != names_.size())
    return axis_not_found("found " + std::to_string(coordinates.size()) + " coordinates, needed " +
                          std::to_string(names_.size()) + "; give one index for each of " +
                          joined(names_));
  std::vector<AxisIndex> fixed;
  for (std::size_t axis = 0; axis < names_.size(); ++axis)
    fixed.push_back({names_[axis], coordinates[axis]});
  const Result<std::vector<std::int32_t>> ranks = ranks_where(fixed);
  if (!ranks) return ranks.errors();
  return ranks->front();
}

std::size_t NamedSharding::stride(std::size_t axis) const {
  std::size_t out = 1;
  for (std::size_t inner = axis + 1; inner < shape_.size(); ++inner)
    out *= static_cast<std::size_t>(shape_[inner]);
  return out;
}

/// One index per axis, `kFree` where it is not fixed; or all that is wrong.
Result<std::vector<std::int32_t>> NamedSharding::fixed_indices(
    std::span<const AxisIndex> fixed) const {
  std::vector<std::int32_t> out(names_.size(), kFree);
  Errors errors;
  for (const AxisIndex& one : fixed) {
    const Result<std::size_t> axis = axis_index(one.axis);
    if (!axis) {
      errors.push_back(axis.errors().front());
    } else if (one.index < 0 || one.index >= shape_[*axis]) {
      errors.push_back(axis_not_found(
          "axis " + names_[*axis] + ": found index " + std::to_string(one.index) +
          ", needed 0 to " + std::to_string(shape_[*axis] - 1) + "; choose an index of the axis"));
    } else if (out[*axis] != kFree) {
      errors.push_back(axis_not_found("found axis " + names_[*axis] +
                                      " fixed twice, needed each axis at most once; fix it once"));
    } else {
      out[*axis] = one.index;
    }
  }
  if (!errors.empty()) return errors;
  return out;
}

Result<std::vector<std::int32_t>> NamedSharding::ranks_where(
    std::span<const AxisIndex> fixed) const {
  const Result<std::vector<std::int32_t>> at = fixed_indices(fixed);
  if (!at) return at.errors();
  std::vector<std::size_t> places{0};
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    const bool is_free = (*at)[axis] == kFree;
    const std::int32_t first = is_free ? 0 : (*at)[axis];
    const std::int32_t last = is_free ? shape_[axis] - 1 : first;
    std::vector<std::size_t> next;
    for (const std::size_t place : places)
      for (std::int32_t index = first; index <= last; ++index)
        next.push_back(place * static_cast<std::size_t>(shape_[axis]) +
                       static_cast<std::size_t>(index));
    places = std::move(next);
  }
  std::vector<std::int32_t> out;
  out.reserve(places.size());
  for (const std::size_t place : places) out.push_back(ranks_[place]);
  std::ranges::sort(out);
  return out;
}

Result<NamedSharding> NamedSharding::slice(std::span<const AxisIndex> fixed) const {
  const Result<std::vector<std::int32_t>> at = fixed_indices(fixed);
  if (!at) return at.errors();
  std::vector<std::string> names;
  std::vector<std::int32_t> shape;
  for (std::size_t axis = 0; axis < names_.size(); ++axis) {
    if ((*at)[axis] != kFree) continue;
    names.push_back(names_[axis]);
    shape.push_back(shape_[axis]);
  }
  if (names.empty())
    return axis_not_found(
        "found every axis fixed, needed one that is left; ask for the rank instead");
  std::vector<std::int32_t> ranks;
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    bool is_inside = true;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const auto index =
          static_cast<std::int32_t>(place / stride(axis) % static_cast<std::size_t>(shape_[axis]));
      is_inside = is_inside && ((*at)[axis] == kFree || (*at)[axis] == index);
    }
    if (is_inside) ranks.push_back(ranks_[place]);
  }
  return make(std::move(names), std::move(shape), std::move(ranks));
}

Result<std::vector<std::int32_t>> NamedSharding::ranks_along(std::string_view axis,
                                                             std::int32_t rank) const {
  const Result<std::size_t> along = axis_index(axis);
  if (!along) return along.errors();
  const Result<std::vector<std::int32_t>> at = coordinates_of(rank);
  if (!at) return at.errors();
  std::size_t place = 0;
  for (std::size_t i = 0; i < shape_.size(); ++i)
    place += i == *along ? 0 : static_cast<std::size_t>((*at)[i]) * stride(i);
  std::vector<std::int32_t> out;
  out.reserve(static_cast<std::size_t>(shape_[*along]));
  for (std::int32_t index = 0; index < shape_[*along]; ++index)
    out.push_back(ranks_[place + static_cast<std::size_t>(index) * stride(*along)]);
  return out;
}

Result<std::vector<std::vector<std::int32_t>>> NamedSharding::groups_along(
    std::string_view axis) const {
  const Result<std::size_t> along = axis_index(axis);
  if (!along) return along.errors();
  const std::size_t step = stride(*along);
  const auto length = static_cast<std::size_t>(shape_[*along]);
  std::vector<std::vector<std::int32_t>> out;
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    if (place / step % length != 0) continue;
    std::vector<std::int32_t>& line = out.emplace_back();
    for (std::size_t index = 0; index < length; ++index)
      line.push_back(ranks_[place + index * step]);
  }
  return out;
}

std::string NamedSharding::text() const {
  std::string out;
  for (std::size_t axis = 0; axis < names_.size(); ++axis) {
    if (axis > 0) out += ' ';
    out += names_[axis] + "=" + std::to_string(shape_[axis]);
  }
  out += ": ";
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    std::size_t opened = 0;  // Brackets that begin, or end, at this place.
    std::size_t closed = 0;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const std::size_t block = stride(axis) * static_cast<std::size_t>(shape_[axis]);
      opened += place % block == 0 ? 1 : 0;
      closed += (place + 1) % block == 0 ? 1 : 0;
    }
    if (place > 0) out += ' ';
    out.append(opened, '[').append(std::to_string(ranks_[place])).append(closed, ']');
  }
  return out;
}

}  // namespace orrery::workers
