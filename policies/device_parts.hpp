// Which devices a job holds, node by node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// Devices of one role of a job on one node.
struct DevicePart {
  NodeId node;
  std::int64_t thousandths = 0;  ///< Above 0.
};

/// All that the job holds; of roles that take turns on seats apart, what the first one has.
inline std::vector<DevicePart> device_parts(const ClusterView& view, const JobView& job) {
  std::vector<DevicePart> parts;
  if (job.spec.roles.size() == 1) {
    const std::int64_t each = job.row.demand.thousandths();
    if (each == 0) return parts;
    parts.reserve(job.nodes.size());
    for (const NodeCount& n : job.nodes) parts.push_back({n.node, each * n.replicas});
    return parts;
  }
  std::vector<NodeCount> nodes;
  for (std::size_t r = 0; r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const std::int64_t each = view.demand_of(job.spec, role).thousandths();
    if (each == 0) continue;
    nodes.clear();
    view.append_nodes(job.row.id, role, nodes);
    for (const NodeCount& n : nodes) parts.push_back({n.node, each * n.replicas});
  }
  return parts;
}

/// Whether these are all devices of a job that holds some.
inline bool is_all(const std::vector<DevicePart>& parts, const JobRow& row) {
  std::int64_t sum = 0;
  for (const DevicePart& part : parts) sum += part.thousandths;
  return sum >= row.thousandths_at(row.replicas);
}

/// Whether they are of several models.
inline bool holds_several_models(const ClusterView& view, const std::vector<DevicePart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const DevicePart& part) {
    return view.capacity().at(part.node).model != view.capacity().at(parts.front().node).model;
  });
}

/// The same of all that the job holds.
inline bool holds_several_models(const ClusterView& view, const JobView& job) {
  if (job.spec.roles.size() > 1) return holds_several_models(view, device_parts(view, job));
  if (job.row.demand.thousandths() == 0) return false;
  return std::any_of(job.nodes.begin(), job.nodes.end(), [&](const NodeCount& n) {
    return view.capacity().at(n.node).model != view.capacity().at(job.nodes.front().node).model;
  });
}

}  // namespace orrery::policies
