// What jobs hold on nodes that take nothing new.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// Nodes may be up and take nothing new: a user has excluded them, they are about to leave, or have
/// lost a device. What runs there goes on. No other job can have these devices, so that policies
/// which share devices by count count neither them nor what jobs hold of them. A job that leaves
/// such a node does not come back to it.
class ClosedNodes {
 public:
  /// Starts anew from the view. O(nodes); where some node is closed, also O(all that jobs hold).
  void begin(const ClusterView& view);

  /// Whether no job holds anything on such a node.
  bool none() const { return held_.empty(); }

  /// Thousandths of devices that the job holds there.
  std::int64_t held(JobId id) const { return parts_of(id).elastic + parts_of(id).rest; }

  /// The same of all roles but the elastic one, which keep their nodes when the job is resized.
  std::int64_t held_by_rest(JobId id) const { return parts_of(id).rest; }

  /// Whether the job holds devices there and nowhere else: it takes none from anybody.
  bool hold_all_of(const JobRow& row) const {
    const std::int64_t there = held(row.id);
    return there > 0 && there >= thousandths_held(row);
  }

  /// Thousandths of devices that the job takes on other nodes with what it holds.
  std::int64_t held_elsewhere(const JobRow& row) const {
    return none() ? thousandths_held(row)
                  : std::max<std::int64_t>(0, thousandths_held(row) - held(row.id));
  }

 private:
  struct Parts {
    std::int64_t elastic = 0;
    std::int64_t rest = 0;
  };

  static std::int64_t thousandths_held(const JobRow& row) {
    return row.has_parts() ? row.thousandths_at(row.replicas)
                           : std::int64_t{row.devices_held} * 1000;
  }

  Parts parts_of(JobId id) const {
    const auto found = held_.find(id);
    return found == held_.end() ? Parts{} : found->second;
  }

  std::map<JobId, Parts> held_;
};

/// Whether the job holds something on such a node: it could not come back there.
bool is_on_closed_node(const ClusterView& view, const JobView& job);

}  // namespace orrery::policies
