// Level L3: how long a step takes alone, and the state of links.

#include <algorithm>
#include <limits>
#include <map>

#include "sim/simgrid/message_fabric.hpp"

namespace orrery::sim {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool same_messages(const MessagePlan& plan,
                   const std::vector<std::uint32_t>& a,
                   const std::vector<std::uint32_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](std::uint32_t x, std::uint32_t y) {
    const PlannedMessage& one = plan.messages[x];
    const PlannedMessage& other = plan.messages[y];
    return one.from == other.from && one.to == other.to && one.bytes == other.bytes;
  });
}

}  // namespace

MessagePlan MessageFabric::plan(const Stage& stage) const {
  std::vector<std::uint32_t> pieces;
  Platform::Route route;
  for (const Exchange& exchange : stage.exchanges) {
    pieces.push_back(settings_.pieces);
    if (settings_.pieces > 0 || exchange.members.size() < 2) continue;
    platform_.find_route(exchange.members[0], exchange.members[1], route);
    double bandwidth = kNoLimit;
    for (const std::uint32_t link : route.links) bandwidth = std::min(bandwidth, bandwidths_[link]);
    pieces.back() = best_pieces(exchange, bandwidth, route.latency, settings_.pieces_max);
  }
  return plan_messages(stage.exchanges, pieces);
}

// The messages of one round begin together: the busiest link and the longest way tell.
double MessageFabric::round_alone_s(const MessagePlan& plan,
                                    const std::vector<std::uint32_t>& round,
                                    double share) const {
  std::map<std::uint32_t, double> bytes;  // By link.
  double longest_s = 0;
  double latency_s = 0;
  Platform::Route route;
  for (const std::uint32_t m : round) {
    const PlannedMessage& message = plan.messages[m];
    const bool stored = message.from.is_none() || message.to.is_none();
    if (!travels(message)) continue;
    platform_.find_route(message.from, message.to, route);
    for (const std::uint32_t link : route.links) bytes[link] += message.bytes * share;
    latency_s = std::max(latency_s, route.latency);
    if (stored && platform_.storage_rate_max() > 0)
      longest_s = std::max(longest_s, message.bytes * share / platform_.storage_rate_max());
  }
  for (const auto& [link, load] : bytes) longest_s = std::max(longest_s, load / bandwidths_[link]);
  return longest_s + latency_s;
}

double MessageFabric::exchange_alone_s(const MessagePlan& plan, double share) const {
  if (share <= 0) return 0;
  std::vector<std::vector<std::uint32_t>> rounds(plan.rounds());
  for (std::uint32_t m = 0; m < plan.messages.size(); ++m)
    rounds[plan.messages[m].round].push_back(m);
  double sum_s = 0;
  double round_s = 0;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (r == 0 || !same_messages(plan, rounds[r], rounds[r - 1]))
      round_s = round_alone_s(plan, rounds[r], share);
    sum_s += round_s;
  }
  return sum_s;
}

double MessageFabric::alone_s(const Stage& stage, const MessagePlan& plan) const {
  const double local_s = stage.local_exchange_s;
  if (plan.messages.empty() || !stage.paced)
    return step_seconds(stage.compute_s, local_s + exchange_alone_s(plan, 1), stage.overlap);
  const double open = 1 - stage.overlap;
  return std::max(stage.compute_s,
                  local_s * stage.overlap + exchange_alone_s(plan, stage.overlap)) +
         local_s * open + exchange_alone_s(plan, open);
}

double MessageFabric::step_alone_s(const Stage& stage) const { return alone_s(stage, plan(stage)); }

// A link between two nodes has the smaller share of both.
void MessageFabric::set_link_share(NodeId node, double share, Instant now) {
  clock_.catch_up(now);
  if (nodes_at_.empty()) {
    nodes_at_.resize(bandwidths_.size());
    for (std::uint32_t n = 0; n < node_shares_.size(); ++n)
      for (const std::uint32_t link : platform_.links_at(NodeId{n})) nodes_at_[link].push_back(n);
  }
  node_shares_[node.index()] = share;
  for (const std::uint32_t link : platform_.links_at(node)) {
    double left = 1;
    for (const std::uint32_t n : nodes_at_[link]) left = std::min(left, node_shares_[n]);
    platform_.links()[link]->set_bandwidth(bandwidths_[link] * left);
  }
}

void MessageFabric::link_use(std::vector<double>& shares) const {
  shares.clear();
  for (simgrid::s4u::Link* link : platform_.links())
    shares.push_back(std::clamp(shim::load_of(*link) / link->get_bandwidth(), 0.0, 1.0));
}

std::vector<std::string> MessageFabric::approximations() const {
  std::vector<std::string> out = platform_.approximations();
  out.push_back(
      "Each message of an exchange is sent as a whole; the share of it that may hide behind the "
      "compute goes from the beginning of the step, the rest after the compute.");
  out.push_back(
      "Trees, broadcasts and chains go in pieces of equal size, as many as are through the "
      "soonest, "
      "at most " +
      std::to_string(settings_.pieces_max) + ".");
  out.push_back(
      "A link is shared between messages in inverse proportion to the latency of their ways, as "
      "SimGrid's model of TCP has it: in equal parts where the ways are equally long.");
  return out;
}

}  // namespace orrery::sim
