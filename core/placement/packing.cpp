#include "core/placement/packing.hpp"

#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::placement {

std::optional<ProcessFault> add_packed(Assignment& assignment, const Packing& packing) {
  invariant(packing.divides(), "a packing uses all resources up");
  const std::int64_t stride = packing.stride;
  const std::int64_t processes = packing.resources.count() / packing.per_process;
  std::optional<ProcessFault> first;
  for (std::int64_t i = 0; i < processes; ++i) {
    // `stride` processes fill one block of per_process * stride resources, interleaved.
    const std::int64_t block = i / stride * packing.per_process * stride;
    const std::int64_t start = packing.resources.first + block + i % stride;
    auto fault = assignment.add(start, packing.per_process, stride);
    if (fault && first) ++first->others;
    if (fault && !first) first = std::move(fault);
  }
  return first;
}

}  // namespace orrery::placement
