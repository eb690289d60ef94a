#include "tests/fabric/recomputed_fabric.hpp"

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
    : topology_(spec, nodes), capacity_(topology_.link_count(), kWholeLink) {}

void RecomputedFabric::begin(int number, const Stage& stage, Instant now) {
  ExchangeLoads loads(topology_);
  Running running;
  const std::vector<LinkLoad>& parts = loads.of(stage);
  running.stage = stage;
  running.begun = now;
  running.step_s = step_with_exchange_s(stage, loads.alone_s());
  running.bytes = !stage.paced && !parts.empty();
  const double within_s = running.bytes ? loads.alone_s() : running.step_s;
  for (const LinkLoad& load : parts) {
    const double share = load.bytes / within_s / topology_.bandwidth(load.link);
    running.demands[load.link] = {
        static_cast<std::int64_t>(share * static_cast<double>(kWholeLink)), load.flows};
  }
  running.left = within_s * stage.steps;
  running.since = now;
  running.at = now + Duration::from_seconds(running.left);
  running.order = begun_++;
  running_[number] = running;
}

void RecomputedFabric::end(int number, Instant) { running_.erase(number); }

void RecomputedFabric::set_link_share(NodeId node, double share) {
  for (const std::uint32_t link : topology_.links_of(node))
    capacity_[link] = static_cast<std::int64_t>(share * static_cast<double>(kWholeLink));
}

void RecomputedFabric::recompute(Instant now) {
  std::map<std::uint32_t, std::vector<LinkDemand>> asked;
  for (const auto& [number, running] : running_)
    for (const auto& [link, demand] : running.demands) asked[link].push_back(demand);
  std::map<std::uint32_t, double> levels;
  for (const auto& [link, demands] : asked) {
    std::int64_t sum = 0;
    for (const LinkDemand& demand : demands) sum += demand.units;
    if (sum > capacity_[link]) levels[link] = level_by_sorting(demands, capacity_[link]);
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
