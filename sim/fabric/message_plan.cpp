#include "sim/fabric/message_plan.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace orrery::sim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// Collects messages, and pairs of one that comes first and one that waits for it.
class Planner {
 public:
  // Adds a message behind others; `kNone` among them counts for nothing.
  std::uint32_t add(NodeId from,
                    NodeId to,
                    double bytes,
                    std::initializer_list<std::uint32_t> behind) {
    const auto number = static_cast<std::uint32_t>(plan_.messages.size());
    PlannedMessage message{from, to, bytes};
    for (const std::uint32_t earlier : behind) {
      if (earlier == kNone) continue;
      ++message.waits_for;
      message.round = std::max(message.round, plan_.messages[earlier].round + 1);
      waits_.emplace_back(earlier, number);
    }
    plan_.messages.push_back(message);
    return number;
  }

  MessagePlan take() {
    for (const auto& [earlier, later] : waits_) ++plan_.messages[earlier].then_end;
    std::uint32_t at = 0;
    for (PlannedMessage& message : plan_.messages) {
      message.then = at;
      at += std::exchange(message.then_end, at);
    }
    plan_.then.resize(waits_.size());
    for (const auto& [earlier, later] : waits_)
      plan_.then[plan_.messages[earlier].then_end++] = later;
    return std::move(plan_);
  }

 private:
  MessagePlan plan_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits_;
};

void add_ring(Planner& planner, const Exchange& exchange) {
  const auto& members = exchange.members;
  const std::size_t n = members.size();
  const double bytes = exchange.bytes / static_cast<double>(n);
  std::vector<std::uint32_t> last(n, kNone);
  for (std::size_t round = 0; round < 2 * (n - 1); ++round) {
    std::vector<std::uint32_t> sent(n);
    for (std::size_t i = 0; i < n; ++i)
      sent[i] =
          planner.add(members[i], members[(i + 1) % n], bytes, {last[(i + n - 1) % n], last[i]});
    last = std::move(sent);
  }
}

void add_all_to_all(Planner& planner, const Exchange& exchange) {
  const auto& members = exchange.members;
  const std::size_t n = members.size();
  std::vector<std::uint32_t> last(n, kNone);
  for (std::size_t round = 1; round < n; ++round) {
    std::vector<std::uint32_t> sent(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t heard_from = (i + n - (round - 1)) % n;
      const std::uint32_t heard = round == 1 ? kNone : last[heard_from];
      sent[i] = planner.add(members[i], members[(i + round) % n], exchange.bytes, {heard, last[i]});
    }
    last = std::move(sent);
  }
}

// Member i hangs below member (i - 1) / 2. Entry i of `up` and `down` is the last message on the
// edge above member i.
void add_tree(Planner& planner, const Exchange& exchange, bool reduce, std::uint32_t pieces) {
  const auto& members = exchange.members;
  const std::size_t n = members.size();
  const double bytes = exchange.bytes / pieces;
  std::vector<std::uint32_t> up(n, kNone);
  std::vector<std::uint32_t> down(n, kNone);
  const auto of = [n](const std::vector<std::uint32_t>& edges, std::size_t i) {
    return i < n ? edges[i] : kNone;
  };
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    for (std::size_t i = n; reduce && i-- > 1;)
      up[i] = planner.add(
          members[i], members[(i - 1) / 2], bytes, {of(up, 2 * i + 1), of(up, 2 * i + 2), up[i]});
    for (std::size_t i = 1; i < n; ++i) {
      const std::size_t parent = (i - 1) / 2;
      if (parent == 0)
        down[i] = planner.add(members[0], members[i], bytes, {of(up, 1), of(up, 2), down[i]});
      else
        down[i] = planner.add(members[parent], members[i], bytes, {down[parent], down[i]});
    }
  }
}

void add_chain(Planner& planner, const Exchange& exchange, std::uint32_t pieces) {
  const auto& members = exchange.members;
  const std::size_t edges = members.size() - 1;
  const double bytes = exchange.bytes / pieces;
  std::vector<std::uint32_t> forth(edges, kNone);
  std::vector<std::uint32_t> back(edges, kNone);
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    for (std::size_t i = 0; i < edges; ++i)
      forth[i] =
          planner.add(members[i], members[i + 1], bytes, {i == 0 ? kNone : forth[i - 1], forth[i]});
    for (std::size_t i = edges; i-- > 0;)
      back[i] = planner.add(
          members[i + 1], members[i], bytes, {i + 1 == edges ? forth[i] : back[i + 1], back[i]});
  }
}

void add_exchange(Planner& planner, const Exchange& exchange, std::uint32_t pieces) {
  if (exchange.pattern == Pattern::Transfers) {
    for (const Transfer& transfer : exchange.transfers)
      if (transfer.from != transfer.to && transfer.bytes > 0)
        planner.add(transfer.from, transfer.to, transfer.bytes, {});
    return;
  }
  if (exchange.members.size() < 2 || !(exchange.bytes > 0)) return;
  switch (exchange.pattern) {
    case Pattern::Ring:
      return add_ring(planner, exchange);
    case Pattern::Tree:
      return add_tree(planner, exchange, true, pieces);
    case Pattern::Broadcast:
      return add_tree(planner, exchange, false, pieces);
    case Pattern::Chain:
      return add_chain(planner, exchange, pieces);
    case Pattern::AllToAll:
      return add_all_to_all(planner, exchange);
    case Pattern::Transfers:
      return;
  }
}

}  // namespace

std::uint32_t MessagePlan::rounds() const {
  std::uint32_t rounds = 0;
  for (const PlannedMessage& message : messages) rounds = std::max(rounds, message.round + 1);
  return rounds;
}

MessagePlan plan_messages(const std::vector<Exchange>& exchanges,
                          const std::vector<std::uint32_t>& pieces) {
  Planner planner;
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    add_exchange(planner, exchanges[i], std::max<std::uint32_t>(pieces[i], 1));
  return planner.take();
}

std::uint32_t best_pieces(const Exchange& exchange,
                          double bandwidth,
                          double latency_s,
                          std::uint32_t most) {
  const auto members = static_cast<double>(exchange.members.size());
  double rounds = 1;
  double edge_s = exchange.bytes / bandwidth;
  switch (exchange.pattern) {
    case Pattern::Tree:
    case Pattern::Broadcast: {
      double levels = 0;
      for (double below = 2; below <= members; below *= 2) ++levels;
      const bool reduce = exchange.pattern == Pattern::Tree;
      rounds = reduce ? 2 * levels : levels;
      // A member's link carries the messages of two children, and upwards one more.
      edge_s *= reduce ? 3 : 2;
      break;
    }
    case Pattern::Chain:
      rounds = 2 * (members - 1);
      edge_s *= 2;
      break;
    case Pattern::Ring:
    case Pattern::AllToAll:
    case Pattern::Transfers:
      return 1;
  }
  const double best = std::sqrt(std::max(0.0, rounds - 1) * edge_s / std::max(latency_s, 1e-9));
  return static_cast<std::uint32_t>(std::clamp(best, 1.0, static_cast<double>(most)));
}

}  // namespace orrery::sim
