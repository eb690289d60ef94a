// Which devices each job held last, as the interval sets that Batsim and evalys read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/cluster/resources.hpp"

namespace orrery::sim {

/// Devices that one worker holds on its node.
struct HeldDevices {
  NodeId node;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
};

/// Keeps one set per job: the last that was recorded. Devices are numbered through the cluster:
/// those of node 0 first, in their order on the node, then those of node 1, and so on. Shares of
/// one device count as the device. A job without devices has an empty set.
class AllocationBook {
 public:
  explicit AllocationBook(std::span<const NodeGroup> groups);

  /// The job holds these devices from now on.
  void record(JobId job, std::span<const HeldDevices> held);

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

  void store(JobId job);

  std::vector<std::uint32_t> first_device_;  // [node]
  std::vector<Slot> slots_;                  // [job]
  std::vector<Interval> intervals_;          // Of all jobs; a slot is reused by its own job only.
  std::vector<Interval> scratch_;
};

}  // namespace orrery::sim
