// Which devices each job held last, as the interval sets that Batsim and evalys read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/cluster/resources.hpp"
#include "core/record/command.hpp"

namespace orrery::sim {

/// Follows the orders of a run. Devices are numbered through the cluster: those of node 0 first, in
/// their order on the node, then those of node 1, and so on. A job's set is that of its last whole
/// membership: the last order that named every worker of a generation. Shares of one device count
/// as the device. A job without devices has an empty set.
class AllocationBook {
 public:
  explicit AllocationBook(std::span<const NodeGroup> groups);

  void observe(const CommandBody& order);

  /// Appends the job's set, canonical: ascending, disjoint, maximal, as in "0-3 8". Nothing for a
  /// job that never started.
  void append_set(JobId job, std::string& out) const;

 private:
  /// Device numbers `first` to `last`, both included.
  struct Interval {
    std::uint32_t first;
    std::uint32_t last;
  };

  /// Where a job's intervals lie.
  struct Slot {
    std::uint32_t begin = 0;
    std::uint16_t used = 0;
    std::uint16_t room = 0;
  };

  void record(JobId job, const std::vector<WorkerStart>& workers);
  void store(JobId job);

  std::vector<std::uint32_t> first_device_;  // [node]
  std::vector<Slot> slots_;                  // [job]
  std::vector<Interval> intervals_;          // Of all jobs; a slot is reused by its own job only.
  std::vector<Interval> scratch_;
};

}  // namespace orrery::sim
