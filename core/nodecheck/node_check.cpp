#include "core/nodecheck/node_check.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/agent/suspicion.hpp"
#include "core/base/invariant.hpp"

namespace orrery {
namespace {

/// Places from fast to slow; those that failed last.
std::vector<std::size_t> by_speed(std::span<const NodeMeasure> measures) {
  std::vector<std::size_t> order(measures.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (measures[a].failed != measures[b].failed) return measures[b].failed;
    return !measures[a].failed && measures[a].took < measures[b].took;
  });
  return order;
}

/// The group of the first round in which each node was.
std::vector<std::size_t> group_of_nodes(const CheckGroups& groups, std::size_t nodes) {
  std::vector<std::size_t> group_of(nodes);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::size_t node : groups[g]) group_of[node] = g;
  return group_of;
}

/// Exchanges slower partners so that no pair meets again, where that can be done.
void part_old_partners(CheckGroups& pairs, const std::vector<std::size_t>& group_of) {
  const auto met = [&](std::size_t a, std::size_t b) { return group_of[a] == group_of[b]; };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!met(pairs[i][0], pairs[i][1])) continue;
    for (std::size_t step = 1; step < pairs.size(); ++step) {
      std::vector<std::size_t>& other = pairs[(i + step) % pairs.size()];
      if (met(pairs[i][0], other[1]) || met(other[0], pairs[i][1])) continue;
      std::swap(pairs[i][1], other[1]);
      break;
    }
  }
}

}  // namespace

CheckGroups first_check_round(std::size_t nodes) {
  CheckGroups groups;
  for (std::size_t i = 0; i + 1 < nodes; i += 2) groups.push_back({i, i + 1});
  if (nodes == 1) groups.push_back({0});
  if (nodes > 1 && nodes % 2 == 1) groups.back().push_back(nodes - 1);
  return groups;
}

CheckGroups second_check_round(std::span<const NodeMeasure> first) {
  const std::size_t nodes = first.size();
  if (nodes < 3) return first_check_round(nodes);
  const std::vector<std::size_t> order = by_speed(first);
  CheckGroups pairs;
  for (std::size_t i = 0; i < nodes / 2; ++i) pairs.push_back({order[i], order[nodes - 1 - i]});
  part_old_partners(pairs, group_of_nodes(first_check_round(nodes), nodes));
  if (nodes % 2 == 1) pairs.back().push_back(order[nodes / 2]);
  return pairs;
}

std::vector<std::size_t> find_straggling_nodes(std::span<const Duration> took, double factor) {
  std::vector<RankStepTime> times;
  times.reserve(took.size());
  for (const Duration each : took)
    times.push_back({Rank{static_cast<std::uint32_t>(times.size())}, each.in_seconds()});
  return stragglers(times, factor);
}

CheckVerdict judge_nodes(std::span<const NodeMeasure> first,
                         std::span<const NodeMeasure> second,
                         double factor) {
  invariant(first.size() == second.size(), "both rounds have one measure for each node");
  CheckVerdict verdict;
  std::vector<std::size_t> sound;
  std::vector<Duration> took;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].failed && second[i].failed) {
      verdict.abnormal.push_back(i);
      continue;
    }
    sound.push_back(i);
    if (first[i].failed || second[i].failed)
      took.push_back(first[i].failed ? second[i].took : first[i].took);
    else
      took.push_back(std::min(first[i].took, second[i].took));
  }
  for (const std::size_t i : find_straggling_nodes(took, factor))
    verdict.stragglers.push_back(sound[i]);
  return verdict;
}

NodeCheck::NodeCheck(std::size_t nodes, double factor)
    : factor_(factor), groups_(first_check_round(nodes)), now_(nodes) {
  invariant(nodes > 0, "some node is checked");
}

bool NodeCheck::take(std::size_t node, std::int32_t round, NodeMeasure measure) {
  if (verdict_ || round != round_ || node >= now_.size() || now_[node]) return false;
  now_[node] = measure;
  return advance();
}

bool NodeCheck::give_up() {
  if (verdict_) return false;
  for (std::optional<NodeMeasure>& measure : now_)
    if (!measure) measure = NodeMeasure{.failed = true, .took = {}};
  return advance();
}

bool NodeCheck::advance() {
  if (std::any_of(now_.begin(), now_.end(), [](const auto& measure) { return !measure; }))
    return false;
  std::vector<NodeMeasure> measures;
  measures.reserve(now_.size());
  for (const std::optional<NodeMeasure>& measure : now_) measures.push_back(*measure);
  if (round_++ == 1) {
    first_ = std::move(measures);
    groups_ = second_check_round(first_);
    now_.assign(first_.size(), std::nullopt);
  } else {
    verdict_ = judge_nodes(first_, measures, factor_);
    groups_.clear();
  }
  return true;
}

}  // namespace orrery
