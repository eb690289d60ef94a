#include "runtime/controller/node_checks.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"

namespace orrery::runtime {
namespace {

constexpr Duration kGather = Duration::seconds(1);  // For others to be paired with.
constexpr Duration kRound = Duration::seconds(300);
constexpr Duration kTryAgain = Duration::seconds(60);
constexpr std::int32_t kTries = 3;

// Below the ports that jobs get; several agents of one machine may check at once.
constexpr std::int32_t kFirstPort = 22'200;
constexpr std::int32_t kPorts = 70;

/// A request's number says which check and round it is of: late answers are known as such.
std::uint64_t request_of(std::uint64_t check, std::int32_t round) {
  return check << 2 | static_cast<std::uint64_t>(round);
}

}  // namespace

void NodeChecks::want(NodeId node, Instant now) {
  const auto [held, fresh] = held_.emplace(node, Held{});
  if (fresh || !held->second.checking) held->second.due = now + kGather;
}

void NodeChecks::answered(NodeId node, const CheckResult& result, Instant now) {
  if (!check_ || result.request != request_of(checks_, check_->round())) return;
  // The request went to others.
  if (std::find(nodes_.begin(), nodes_.end(), node) == nodes_.end())
    return reached(Mark::LeaderRejectedReport);
  if (!result.error.empty()) errors_[node] = result.error;
  take(node,
       check_->round(),
       {!result.error.empty(), Duration{result.compute.ns + result.all_reduce.ns}},
       now);
}

void NodeChecks::lost(NodeId node, Instant now) {
  const auto held = held_.find(node);
  if (held == held_.end() || !held->second.checking || !check_) return;
  errors_[node] = "its agent is out of reach";
  take(node, check_->round(), {true, {}}, now);
}

void NodeChecks::take(NodeId node, std::int32_t round, NodeMeasure measure, Instant now) {
  const auto at = std::find(nodes_.begin(), nodes_.end(), node);
  if (at == nodes_.end()) return;
  if (!check_->take(static_cast<std::size_t>(at - nodes_.begin()), round, measure)) return;
  if (check_->verdict())
    finish(now);
  else
    order_round(now);
}

void NodeChecks::time_reached(Instant now) {
  if (check_ && now >= round_until_) {
    check_->give_up();
    if (check_->verdict())
      finish(now);
    else
      order_round(now);
  }
  const bool due = std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
    return !entry.second.checking && entry.second.due <= now;
  });
  if (!check_ && due) begin(now);
}

Instant NodeChecks::next_deadline() const {
  if (check_) return round_until_;
  Instant deadline = Instant::never();
  for (const auto& [node, held] : held_) deadline = std::min(deadline, held.due);
  return deadline;
}

void NodeChecks::begin(Instant now) {
  nodes_.clear();
  errors_.clear();
  for (auto& [node, held] : held_) {
    if (held.due > now + kGather) continue;
    held.checking = true;
    ++held.tries;
    nodes_.push_back(node);
  }
  ++checks_;
  check_.emplace(nodes_.size());
  order_round(now);
}

void NodeChecks::order_round(Instant now) {
  round_until_ = now + kRound;
  const std::int32_t round = check_->round();
  const CheckGroups groups = check_->groups();
  std::vector<NodeId> unreachable;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    CheckRequest request;
    request.request = request_of(checks_, round);
    request.round = round;
    request.port = kFirstPort + static_cast<std::int32_t>(g) % kPorts;
    request.deadline = kRound;
    for (const std::size_t member : groups[g])
      request.peers.push_back(port_.address(nodes_[member]));
    for (std::size_t rank = 0; rank < groups[g].size(); ++rank) {
      request.rank = static_cast<std::int32_t>(rank);
      const NodeId node = nodes_[groups[g][rank]];
      if (!port_.send(node, request)) unreachable.push_back(node);
    }
  }
  for (const NodeId node : unreachable) lost(node, now);
}

void NodeChecks::finish(Instant now) {
  const CheckVerdict verdict = *check_->verdict();
  const std::vector<NodeId> nodes = std::exchange(nodes_, {});
  check_.reset();
  round_until_ = Instant::never();
  const auto is_in = [](const std::vector<std::size_t>& list, std::size_t i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId node = nodes[i];
    Held& held = held_.at(node);
    held.checking = false;
    if (is_in(verdict.abnormal, i)) {
      held.due = held.tries < kTries ? now + kTryAgain : Instant::never();
      std::string why = "the node check failed: " + errors_[node];
      why += held.due.is_never() ? "; mend the node and start its agent again"
                                 : "; it is tried again in a minute";
      port_.judged(node, false, why);
      continue;
    }
    held_.erase(node);
    port_.judged(node,
                 true,
                 is_in(verdict.stragglers, i) ? "far slower than the others in the node check"
                                              : std::string());
  }
}

}  // namespace orrery::runtime
