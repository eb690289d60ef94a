#include "sim/simgrid/stage_flows.hpp"

#include <algorithm>
#include <tuple>

#include "sim/fabric/exchange_load.hpp"

namespace orrery::sim {

StageFlows::StageFlows(const Platform& platform, const FlowLinks& links, RouteCache& routes)
    : platform_(platform), links_(links), routes_(routes), load_(links.size()) {}

void StageFlows::of(const Stage& stage) {
  pairs_.clear();
  route_links_.clear();
  latency_s_ = 0;
  for (const Exchange& exchange : stage.exchanges) add(exchange);
  if (stage.exchanges.size() > 1) merge();
  double transfer_s = 0;
  for (const Pair& pair : pairs_) {
    if (pair.rate_max > 0) transfer_s = std::max(transfer_s, pair.bytes / pair.rate_max);
    for (const std::uint32_t link : links(pair)) {
      // Where links are not shared the largest flow counts.
      load_[link] =
          links_.shared(link) ? load_[link] + pair.bytes : std::max(load_[link], pair.bytes);
      transfer_s = std::max(transfer_s, load_[link] / links_.bandwidth(link));
    }
  }
  for (const std::uint32_t link : route_links_) load_[link] = 0;
  step_s_ = step_with_exchange_s(stage, transfer_s + latency_s_);
}

void StageFlows::add(const Exchange& exchange) {
  double way_s = 0;
  for (const Transfer& transfer : transfers_of(exchange)) {
    const bool stored = transfer.from.is_none() || transfer.to.is_none();
    if (stored && !platform_.has_storage()) continue;
    const RouteCache::Way way = routes_.find(transfer.from, transfer.to);
    Pair pair{transfer.from, transfer.to, transfer.bytes};
    pair.links_begin = static_cast<std::uint32_t>(route_links_.size());
    route_links_.insert(route_links_.end(), way.links.begin(), way.links.end());
    pair.links_end = static_cast<std::uint32_t>(route_links_.size());
    if (stored) pair.rate_max = platform_.storage_rate_max();
    double latency_s = way.latency_s;
    for (const std::uint32_t link : way.links) latency_s += links_.latency_s(link);
    way_s = std::max(way_s, latency_s);
    pairs_.push_back(pair);
  }
  latency_s_ = std::max(latency_s_, rounds_of(exchange) * way_s);
}

// Several exchanges may send from one node to another; one flow carries it all.
void StageFlows::merge() {
  std::stable_sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < pairs_.size(); ++i) {
    if (pairs_[i].from == pairs_[kept].from && pairs_[i].to == pairs_[kept].to)
      pairs_[kept].bytes += pairs_[i].bytes;
    else
      pairs_[++kept] = pairs_[i];
  }
  if (!pairs_.empty()) pairs_.resize(kept + 1);
}

}  // namespace orrery::sim
