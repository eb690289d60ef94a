// The faults of nodes and devices that a journal tells of.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/record/event.hpp"
#include "scenarios/language/spec/faults.hpp"

namespace orrery::sim {

/// Collects them, each from its beginning until all works again.
class RecordedFaults {
 public:
  void falls_silent(NodeId node, Instant at);

  /// It is back; false: it had not been silent.
  bool returns(NodeId node, Instant at);

  /// It was away for less than its lease, and what ran there is gone.
  void was_away(NodeId node, Instant at);

  /// False: it tells of no fault, since all devices worked before and do so now.
  bool loses(const DevicesLost& lost, Instant at);

  bool is_down(NodeId node) const { return down_.contains(node); }

  /// Whether any of the devices does not work now.
  bool took(NodeId node, std::uint64_t devices) const;

  /// All of them by time, those that last still included.
  std::vector<scenarios::Fault> close();

 private:
  std::vector<scenarios::Fault> over_;
  std::map<NodeId, scenarios::Fault> down_;
  std::map<NodeId, scenarios::Fault> lost_;
};

}  // namespace orrery::sim
