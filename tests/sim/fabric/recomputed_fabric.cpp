#include "tests/sim/fabric/recomputed_fabric.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace orrery::sim::test {
namespace {

// By sorting: the least asking flows first get what they ask for, as long as it is no more than an
// equal share of what is left.
double level_by_sorting(std::vector<LinkDemand> demands, std::int64_t capacity) {
  std::sort(demands.begin(), demands.end(), [](const LinkDemand& a, const LinkDemand& b) {
    return static_cast<double>(a.units) / a.flows < static_cast<double>(b.units) / b.flows;
  });
  std::uint64_t flows = 0;
  for (const LinkDemand& demand : demands) flows += demand.flows;
  for (const LinkDemand& demand : demands) {
    const double level = static_cast<double>(capacity) / static_cast<double>(flows);
    if (static_cast<double>(demand.units) > level * demand.flows) return level;
    capacity -= demand.units;
    flows -= demand.flows;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

RecomputedFabric::RecomputedFabric(const scenarios::NetworkSpec& spec, std::int32_t nodes)
    : topology_(spec, nodes), share_(topology_.link_count(), 1.0) {}

void RecomputedFabric::begin(int number, const Stage& stage, Instant now) {
  ExchangeLoads loads(topology_);
  Running running;
  running.stage = stage;
  running.begun = now;
  running.loads = loads.of(stage);
  running.latency_s = loads.latency_s();
  running.limit_s = loads.limit_s();
  running.bytes = !stage.paced && !running.loads.empty();
  ask(running);
  running.left = running.alone_s * stage.steps;
  running.since = now;
  running.at = now + Duration::from_seconds(running.left);
  running.order = begun_++;
  running_[number] = running;
}

// What the stage asks for of the links as they are.
void RecomputedFabric::ask(Running& running) const {
  double transfer_s = running.limit_s;
  for (const LinkLoad& load : running.loads)
    transfer_s =
        std::max(transfer_s, load.bytes / (topology_.bandwidth(load.link) * share_[load.link]));
  const double exchange_s = transfer_s + running.latency_s;
  running.step_s = step_with_exchange_s(running.stage, exchange_s);
  running.alone_s = running.bytes ? exchange_s : running.step_s;
  for (const LinkLoad& load : running.loads) {
    const double share = load.bytes / running.alone_s / topology_.bandwidth(load.link);
    running.demands[load.link] = {
        static_cast<std::int64_t>(share * static_cast<double>(kWholeLink)), load.flows};
  }
}

void RecomputedFabric::end(int number, Instant) { running_.erase(number); }

void RecomputedFabric::set_link_share(NodeId node, double share, Instant now) {
  std::vector<std::uint32_t> links = topology_.links_of(node);
  std::erase_if(links, [&](std::uint32_t link) { return share_[link] == share; });
  for (const std::uint32_t link : links) share_[link] = share;
  for (auto& [number, running] : running_) {
    const bool touched = std::any_of(links.begin(), links.end(), [&](std::uint32_t link) {
      return running.demands.count(link) > 0;
    });
    if (!touched) continue;
    running.left = std::max(0.0, running.left - running.speed * (now - running.since).in_seconds());
    if (now >= running.at) running.left = 0;
    const double before = running.alone_s;
    ask(running);
    running.left *= running.alone_s / before;
    running.since = now;
    running.at = now + Duration::from_seconds(running.left / running.speed);
    running.slowed = true;
  }
}

void RecomputedFabric::recompute(Instant now) {
  std::map<std::uint32_t, std::vector<LinkDemand>> asked;
  for (const auto& [number, running] : running_)
    for (const auto& [link, demand] : running.demands) asked[link].push_back(demand);
  std::map<std::uint32_t, double> levels;
  for (const auto& [link, demands] : asked) {
    std::int64_t sum = 0;
    for (const LinkDemand& demand : demands) sum += demand.units;
    const double share = share_[link];
    const std::int64_t capacity =
        share < 1 ? static_cast<std::int64_t>(share * kWholeLink) + 2 : kWholeLink;
    if (sum > capacity) levels[link] = level_by_sorting(demands, capacity);
  }
  for (auto& [number, running] : running_) {
    if (running.demands.empty()) continue;
    double speed = 1;
    for (const auto& [link, demand] : running.demands)
      if (levels.count(link) > 0) speed = std::min(speed, share_at(levels[link], demand));
    if (speed == running.speed) continue;
    running.left = std::max(0.0, running.left - running.speed * (now - running.since).in_seconds());
    if (now >= running.at) running.left = 0;
    running.since = now;
    running.speed = speed;
    running.slowed = true;
    running.at = now + Duration::from_seconds(running.left / speed);
  }
}

Instant RecomputedFabric::next() const {
  Instant next = Instant::never();
  for (const auto& [number, running] : running_) next = std::min(next, running.at);
  return next;
}

bool RecomputedFabric::pass_bytes(Instant now) {
  bool any = false;
  for (auto& [number, running] : running_) {
    if (!running.bytes || running.at > now) continue;
    any = true;
    const Stage& stage = running.stage;
    const double exchange_s =
        stage.local_exchange_s * stage.steps + (now - running.begun).in_seconds();
    const double whole_s =
        running.slowed ? step_seconds(stage.compute_s * stage.steps, exchange_s, stage.overlap)
                       : running.step_s * stage.steps;
    running.at = std::max(now, running.begun + Duration::from_seconds(whole_s));
    running.bytes = false;
    running.demands.clear();
    running.speed = 1;
  }
  return any;
}

std::vector<int> RecomputedFabric::take_complete(Instant now) {
  std::vector<std::tuple<Instant, std::uint64_t, int>> complete;
  for (const auto& [number, running] : running_)
    if (!running.bytes && running.at <= now)
      complete.emplace_back(running.at, running.order, number);
  std::sort(complete.begin(), complete.end());
  std::vector<int> numbers;
  for (const auto& [at, order, number] : complete) {
    numbers.push_back(number);
    running_.erase(number);
  }
  return numbers;
}

std::vector<double> RecomputedFabric::use() const {
  std::vector<double> use(topology_.link_count(), 0.0);
  for (const auto& [number, running] : running_)
    for (const auto& [link, demand] : running.demands)
      use[link] += static_cast<double>(demand.units) * running.speed;
  for (double& share : use) share /= static_cast<double>(kWholeLink);
  return use;
}

}  // namespace orrery::sim::test
