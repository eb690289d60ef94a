#include "sim/fabric/stage.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

void add(std::vector<Transfer>& out, NodeId from, NodeId to, double bytes) {
  if (from != to && bytes > 0) out.push_back({from, to, bytes});
}

// Member i hangs below member (i - 1) / 2.
void add_tree(const Exchange& exchange, bool up, std::vector<Transfer>& out) {
  const auto& members = exchange.members;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const NodeId parent = members[(i - 1) / 2];
    if (up) add(out, members[i], parent, exchange.bytes);
    add(out, parent, members[i], exchange.bytes);
  }
}

}  // namespace

std::vector<Transfer> transfers_of(const Exchange& exchange) {
  std::vector<Transfer> out;
  const auto& members = exchange.members;
  const std::size_t n = members.size();
  if (exchange.pattern == Pattern::Transfers) {
    for (const Transfer& transfer : exchange.transfers)
      add(out, transfer.from, transfer.to, transfer.bytes);
    return out;
  }
  if (n < 2) return out;
  switch (exchange.pattern) {
    case Pattern::Ring: {
      const double bytes = 2 * static_cast<double>(n - 1) / static_cast<double>(n) * exchange.bytes;
      for (std::size_t i = 0; i < n; ++i) add(out, members[i], members[(i + 1) % n], bytes);
      break;
    }
    case Pattern::Tree:
      add_tree(exchange, true, out);
      break;
    case Pattern::Broadcast:
      add_tree(exchange, false, out);
      break;
    case Pattern::Chain:
      for (std::size_t i = 0; i + 1 < n; ++i) {
        add(out, members[i], members[i + 1], exchange.bytes);
        add(out, members[i + 1], members[i], exchange.bytes);
      }
      break;
    case Pattern::AllToAll:
      for (const NodeId from : members)
        for (const NodeId to : members) add(out, from, to, exchange.bytes);
      break;
    case Pattern::Transfers:
      break;
  }
  return out;
}

double step_seconds(double compute_s, double exchange_s, double overlap) {
  return compute_s + exchange_s - std::min(compute_s, overlap * exchange_s);
}

}  // namespace orrery::sim
