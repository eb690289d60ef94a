#include "sim/faults/lanl_replay.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace orrery::sim {
namespace {

/// Midnight of a day, since the Unix epoch. A day that a month lacks is one of the next month.
Instant midnight(const scenarios::LanlReplay& replay) {
  const std::chrono::sys_days first = std::chrono::year(replay.from_year) /
                                      std::chrono::month(static_cast<unsigned>(replay.from_month)) /
                                      std::chrono::day(1);
  const std::int64_t days = first.time_since_epoch().count() + replay.from_day - 1;
  return Instant::zero() + Duration::seconds(days * 86'400);
}

/// Nodes of a system: as declared, and as its records name them.
std::int64_t nodes_of(const LanlRecords& records, std::int32_t system) {
  std::int64_t nodes = 0;
  for (const LanlFailure& failure : records.failures)
    if (failure.system == system)
      nodes = std::max<std::int64_t>({nodes, failure.nodes, failure.node + 1});
  return nodes;
}

struct Outage {
  Instant begin;
  Instant end;
};

}  // namespace

std::vector<scenarios::Fault> replay_lanl(const scenarios::LanlReplay& replay,
                                          const LanlRecords& records,
                                          std::int64_t nodes) {
  const Instant zero = midnight(replay);
  const Instant end = zero + Duration::seconds(std::int64_t{replay.days} * 86'400);
  const std::int64_t system_nodes = nodes_of(records, replay.system);
  std::map<NodeId, std::vector<Outage>> outages;
  for (const LanlFailure& failure : records.failures) {
    if (failure.system != replay.system || failure.node < 0 || failure.started < zero ||
        failure.started >= end)
      continue;
    const std::int64_t node =
        replay.scale_nodes ? failure.node * nodes / system_nodes : failure.node;
    if (node >= nodes) continue;
    const Duration down = std::max(failure.down, Duration::seconds(60));
    const Instant begin = Instant::zero() + (failure.started - zero);
    outages[NodeId{static_cast<std::uint32_t>(node)}].push_back({begin, begin + down});
  }
  std::vector<scenarios::Fault> faults;
  for (auto& [node, of_node] : outages) {
    std::stable_sort(of_node.begin(), of_node.end(), [](const Outage& a, const Outage& b) {
      return a.begin < b.begin;
    });
    Instant down_until = Instant{-1};
    for (const Outage& outage : of_node) {
      if (outage.begin <= down_until) {
        down_until = std::max(down_until, outage.end);
        faults.back().lasting = down_until - faults.back().at;
        continue;
      }
      down_until = outage.end;
      scenarios::Fault& fault = faults.emplace_back();
      fault.at = outage.begin;
      fault.nodes = {node};
      fault.lasting = outage.end - outage.begin;
    }
  }
  std::stable_sort(
      faults.begin(), faults.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return faults;
}

}  // namespace orrery::sim
