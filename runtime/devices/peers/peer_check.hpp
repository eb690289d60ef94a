// The all-reduce of a node check, and a whole check with it.
#pragma once

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/devices/compute_check.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// How much the peers send each other.
struct AllReduceWork {
  std::size_t floats = std::size_t{1} << 20;
  std::int32_t times = 8;  ///< At least 1.
};

/// Meets the peers of a request at its port of rank 0, and sums floats with them over a ring. How
/// long the sums took, all of them; meeting is not counted, for a peer may still be computing.
/// Errors: Unavailable where a peer is missing, leaves or does not answer within the deadline, or a
/// sum is wrong; InvalidInput where an address of the peers is not numeric.
Result<Duration> all_reduce_with_peers(const CheckRequest& request, const AllReduceWork& work = {});

/// `run_node_check` with `all_reduce_with_peers` where `parts` have no all-reduce of their own.
CheckResult check_node_with_peers(const CheckRequest& request, NodeCheckParts parts = {});

}  // namespace orrery::runtime
