#include "sim/simgrid/flow_links.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"

namespace orrery::sim {

void FlowLinks::add(double bandwidth, double latency_s, Sharing sharing) {
  links_.push_back({bandwidth, bandwidth, latency_s, 0, sharing, false, {}});
}

bool FlowLinks::enter(std::uint32_t flow, std::span<const std::uint32_t> links, double demand) {
  bool any = false;
  for (const std::uint32_t index : links) {
    Link& link = links_[index];
    link.demand += demand;
    link.flows.push_back(flow);
    if (!contended(index)) continue;
    link.was_contended = true;
    any = true;
  }
  return any;
}

void FlowLinks::leave(std::uint32_t flow, std::span<const std::uint32_t> links, double demand) {
  for (const std::uint32_t index : links) {
    Link& link = links_[index];
    // The latest are at the end, and flows of short stages leave first.
    const auto found = std::find(link.flows.rbegin(), link.flows.rend(), flow);
    invariant(found != link.flows.rend(), "a flow leaves links that it is in");
    *found = link.flows.back();
    link.flows.pop_back();
    link.demand -= demand;
    if (!link.flows.empty()) continue;
    link.demand = 0;
    link.was_contended = false;
  }
}

}  // namespace orrery::sim
