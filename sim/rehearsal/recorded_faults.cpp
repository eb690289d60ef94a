#include "sim/rehearsal/recorded_faults.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

scenarios::Fault fault_of(scenarios::FaultKind kind, NodeId node, Instant at) {
  scenarios::Fault fault;
  fault.kind = kind;
  fault.at = at;
  fault.nodes = {node};
  return fault;
}

}  // namespace

void RecordedFaults::falls_silent(NodeId node, Instant at) {
  down_.emplace(node, fault_of(scenarios::FaultKind::Down, node, at));
}

bool RecordedFaults::returns(NodeId node, Instant at) {
  const auto down = down_.find(node);
  if (down == down_.end()) return false;
  down->second.lasting = at - down->second.at;
  over_.push_back(std::move(down->second));
  down_.erase(down);
  return true;
}

void RecordedFaults::was_away(NodeId node, Instant at) {
  over_.push_back(fault_of(scenarios::FaultKind::Down, node, at));
  over_.back().lasting = Duration::zero();
}

bool RecordedFaults::loses(const DevicesLost& lost, Instant at) {
  const auto open = lost_.find(lost.node);
  if (open == lost_.end() && lost.devices == 0) return false;
  if (open != lost_.end()) {
    if (lost.devices != 0 && (lost.devices & ~open->second.devices) == 0) return true;
    open->second.lasting = at - open->second.at;
    over_.push_back(std::move(open->second));
    lost_.erase(open);
    if (lost.devices == 0) return true;
  }
  scenarios::Fault fault = fault_of(scenarios::FaultKind::DeviceLost, lost.node, at);
  fault.devices = lost.devices;
  lost_.emplace(lost.node, std::move(fault));
  return true;
}

bool RecordedFaults::took(NodeId node, std::uint64_t devices) const {
  const auto lost = lost_.find(node);
  return lost != lost_.end() && (lost->second.devices & devices) != 0;
}

std::vector<scenarios::Fault> RecordedFaults::close() {
  for (auto& [node, fault] : down_) over_.push_back(std::move(fault));
  for (auto& [node, fault] : lost_) over_.push_back(std::move(fault));
  std::ranges::stable_sort(over_, {}, &scenarios::Fault::at);
  return std::move(over_);
}

}  // namespace orrery::sim
