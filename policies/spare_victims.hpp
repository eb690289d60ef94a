// Which of the jobs that gave way for another need not have.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"

namespace orrery::policies {

/// Takes out of `victims`, from `begin` to before `end`, those that are not needed: without whom
/// `fits(std::vector<JobId>)` still holds for the rest. Later ones come first, and many at once
/// where that is possible: about k log n questions where k of n are needed.
template <class Fits>
void spare_victims(std::vector<JobId>& victims, std::size_t begin, std::size_t end, Fits&& fits) {
  if (begin == end) return;
  std::vector<JobId> rest = victims;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
             rest.begin() + static_cast<std::ptrdiff_t>(end));
  if (fits(std::as_const(rest))) {
    victims = std::move(rest);
    return;
  }
  if (end - begin == 1) return;
  const std::size_t middle = begin + (end - begin) / 2;
  spare_victims(victims, middle, end, fits);
  spare_victims(victims, begin, middle, fits);
}

}  // namespace orrery::policies
