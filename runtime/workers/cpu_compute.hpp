// Matrix products on one core of the host.
#pragma once

#include <memory>

#include "runtime/workers/compute.hpp"

namespace orrery::worker {

/// Matrices of a rank; `size` from 1.
std::unique_ptr<Compute> make_cpu_compute(std::int32_t size, std::int32_t rank);

}  // namespace orrery::worker
