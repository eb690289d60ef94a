// Matrix products on one GPU, with a kernel of our own.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "runtime/workers/compute.hpp"

namespace orrery::worker {

/// Matrices of a rank on a device, by its index in this process. Error: there is no such GPU, or no
/// driver; says which.
Result<std::unique_ptr<Compute>> make_cuda_compute(std::int32_t size,
                                                   std::int32_t rank,
                                                   std::int32_t device);

}  // namespace orrery::worker
