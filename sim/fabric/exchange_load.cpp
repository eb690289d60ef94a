#include "sim/fabric/exchange_load.hpp"

#include <algorithm>
#include <bit>

namespace orrery::sim {

ExchangeLoads::ExchangeLoads(const Topology& topology)
    : topology_(&topology), place_(topology.link_count()) {}

const std::vector<LinkLoad>& ExchangeLoads::of(const Stage& stage) {
  for (const LinkLoad& load : loads_) place_[load.link] = 0;
  loads_.clear();
  latency_s_ = 0;
  limit_s_ = 0;
  for (const Exchange& exchange : stage.exchanges) add(exchange);
  transfer_s_ = limit_s_;
  for (const LinkLoad& load : loads_)
    transfer_s_ = std::max(transfer_s_, load.bytes / topology_->bandwidth(load.link));
  return loads_;
}

void ExchangeLoads::add(const Exchange& exchange) {
  std::size_t hops_most = 0;
  for (const Transfer& transfer : transfers_of(exchange)) {
    route_.clear();
    topology_->route(transfer.from, transfer.to, route_);
    hops_most = std::max(hops_most, route_.size());
    if ((transfer.from.is_none() || transfer.to.is_none()) && topology_->storage_rate_max() > 0)
      limit_s_ = std::max(limit_s_, transfer.bytes / topology_->storage_rate_max());
    for (const std::uint32_t link : route_) {
      if (place_[link] == 0) {
        loads_.push_back({link, 0, 0});
        place_[link] = static_cast<std::uint32_t>(loads_.size());
      }
      LinkLoad& load = loads_[place_[link] - 1];
      load.bytes += transfer.bytes;
      ++load.flows;
    }
  }
  const double rounds = rounds_of(exchange);
  latency_s_ =
      std::max(latency_s_, rounds * static_cast<double>(hops_most) * topology_->latency_s());
}

std::uint32_t rounds_of(const Exchange& exchange) {
  if (exchange.pattern == Pattern::Transfers) return exchange.transfers.empty() ? 0 : 1;
  if (exchange.members.size() < 2) return 0;
  const auto members = static_cast<std::uint32_t>(exchange.members.size());
  const auto levels = static_cast<std::uint32_t>(std::bit_width(members - 1));  // log2, up.
  switch (exchange.pattern) {
    case Pattern::Ring:
      return 2 * (members - 1);
    case Pattern::Tree:
      return 2 * levels;
    case Pattern::Broadcast:
      return levels;
    case Pattern::Chain:
    case Pattern::AllToAll:
    case Pattern::Transfers:
      break;
  }
  return 1;
}

double exchange_alone_s(const Topology& topology, const Stage& stage) {
  ExchangeLoads loads(topology);
  loads.of(stage);
  return loads.alone_s();
}

double step_with_exchange_s(const Stage& stage, double exchange_s) {
  return step_seconds(stage.compute_s, stage.local_exchange_s + exchange_s, stage.overlap);
}

}  // namespace orrery::sim
