#include "policies/closed_nodes.hpp"

#include "policies/device_parts.hpp"

namespace orrery::policies {

void ClosedNodes::begin(const ClusterView& view) {
  held_.clear();
  const FreeIndex& nodes = view.capacity();
  const auto is_closed = [&](NodeId node) { return !nodes.at(node).usable; };
  bool some = false;
  for (std::uint32_t n = 0; n < nodes.size() && !some; ++n) some = is_closed(NodeId{n});
  if (!some) return;
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    Parts parts;
    for (const DevicePart& part : device_parts(view, job))
      if (is_closed(part.node)) parts.rest += part.thousandths;
    if (parts.rest == 0) continue;
    for (const NodeCount& at : job.nodes)
      if (is_closed(at.node)) parts.elastic += job.row.demand.thousandths() * at.replicas;
    parts.rest -= parts.elastic;
    held_.emplace(id, parts);
  }
}

bool is_on_closed_node(const ClusterView& view, const JobView& job) {
  return std::any_of(job.nodes.begin(), job.nodes.end(), [&](const NodeCount& at) {
    return !view.capacity().at(at.node).usable;
  });
}

}  // namespace orrery::policies
