// One node's part in a round of the node check: matrix work on every processor and device, then an
// all-reduce with its peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// How much work the processors are given.
struct ComputeWork {
  std::int32_t threads = 0;    ///< 0: one for each processor that this process may run on.
  std::int32_t order = 256;    ///< Of the square matrices; 1 to 4096.
  std::int32_t products = 24;  ///< By each thread, at least 1.
};

/// Multiplies matrices with known products on every thread at once. How long the slowest took.
/// Errors: Unavailable where a product is wrong, or it was not done by the deadline.
Result<Duration> check_processors(const ComputeWork& work, Duration deadline);

/// Work that other parts of the program do; each says how long it took, or what went wrong.
struct NodeCheckParts {
  ComputeWork processors;
  std::size_t devices = 0;
  /// Matrix work on one device. Empty: devices are not given any.
  std::function<Result<Duration>(std::size_t device, Duration deadline)> device;
  /// An all-reduce with the peers of a request. Empty: a check with peers fails.
  std::function<Result<Duration>(const CheckRequest&)> all_reduce;
};

/// Carries out one request within its deadline. What fails is told in the result.
CheckResult run_node_check(const CheckRequest& request, const NodeCheckParts& parts);

}  // namespace orrery::runtime
