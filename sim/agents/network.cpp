#include "sim/agents/network.hpp"

#include <algorithm>

namespace orrery::sim {

using scenarios::FaultKind;
using scenarios::LinkDirection;

Network::Network(std::uint64_t seed, std::size_t nodes, const NetworkSettings& settings)
    : settings_(settings), random_(Random::stream(seed, "network")), links_(nodes) {}

MessageFate Network::send(
    NodeId node, Way way, std::size_t bytes, Instant now, MessageStream& stream, bool as_stream) {
  const Link& link = links_[node.index()];
  ++sent_;
  MessageFate fate;
  if (is_cut(node, way) || (link.loss > 0 && random_.chance(link.loss))) {
    ++lost_;
    return fate;
  }
  fate.arrives = arrival(link, bytes, now, stream);
  if (as_stream) return fate;
  if (link.window > Duration::zero()) fate.arrives = fate.arrives + draw(link.window);
  if (link.duplication > 0 && random_.chance(link.duplication))
    fate.arrives_again = fate.arrives + draw(settings_.latency * 10 + link.window);
  return fate;
}

Instant Network::arrival(const Link& link, std::size_t bytes, Instant now, MessageStream& stream) {
  const double wire_s = static_cast<double>(bytes) / (settings_.bytes_per_second * link.bandwidth);
  const Instant in_order = std::max(now + settings_.latency + link.added + draw(settings_.jitter) +
                                        Duration::from_seconds(wire_s),
                                    stream.last_arrival);
  stream.last_arrival = in_order;
  return in_order;
}

bool Network::is_of_network(FaultKind kind) {
  return kind >= FaultKind::LinkCut && kind <= FaultKind::Reordering;
}

std::size_t Network::begin(const scenarios::Fault& fault) {
  active_.push_back({fault});
  judge_all(fault);
  return active_.size() - 1;
}

void Network::end(std::size_t fault) {
  active_[fault].over = true;
  judge_all(active_[fault].fault);
}

bool Network::acts_on(const Active& active, NodeId node) const {
  const std::vector<NodeId>& nodes = active.fault.nodes;
  return !active.over && (nodes.empty() || std::binary_search(nodes.begin(), nodes.end(), node));
}

void Network::judge_all(const scenarios::Fault& fault) {
  if (fault.nodes.empty())
    for (std::uint32_t n = 0; n < links_.size(); ++n) judge(NodeId{n});
  for (const NodeId node : fault.nodes) judge(node);
}

// What all faults together leave of a link.
void Network::judge(NodeId node) {
  Link link;
  for (const Active& active : active_) {
    if (!acts_on(active, node)) continue;
    const scenarios::Fault& fault = active.fault;
    switch (fault.kind) {
      case FaultKind::LinkCut:
        if (fault.direction != LinkDirection::FromNode) link.cut[0] = true;
        if (fault.direction != LinkDirection::ToNode) link.cut[1] = true;
        break;
      case FaultKind::Bandwidth:
        link.bandwidth = std::min(link.bandwidth, fault.factor);
        break;
      case FaultKind::Latency:
        link.added = std::max(link.added, fault.added);
        break;
      case FaultKind::Loss:
        link.loss = std::max(link.loss, fault.rate);
        break;
      case FaultKind::Duplication:
        link.duplication = std::max(link.duplication, fault.rate);
        break;
      case FaultKind::Reordering:
        link.window = std::max(link.window, fault.window);
        break;
      default:
        break;
    }
  }
  links_[node.index()] = link;
}

}  // namespace orrery::sim
