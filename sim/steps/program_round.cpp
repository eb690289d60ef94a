#include "sim/steps/program_round.hpp"

#include <algorithm>
#include <utility>

#include "sim/steps/gang.hpp"

namespace orrery::sim {
namespace {

using scenarios::Program;
using scenarios::ProgramStage;
using scenarios::RankPattern;
using scenarios::TrafficSpec;

const Program& program_for(const TrafficSpec& traffic, std::size_t replicas) {
  const std::int64_t last = static_cast<std::int64_t>(traffic.programs.size()) - 1;
  const std::int64_t wanted = static_cast<std::int64_t>(replicas) - traffic.programs_from;
  return traffic.programs[static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 0, last))];
}

// Until the slowest rank has computed.
double compute_seconds(const CycleInputs& inputs, const ProgramStage& stage) {
  double slowest = stage.seconds;
  if (stage.flops.empty()) return slowest;
  for (std::size_t rank = 0; rank < inputs.gang.size(); ++rank) {
    if (stage.flops.size() > 1 && rank >= stage.flops.size()) break;
    const double flops = stage.flops.size() == 1 ? stage.flops[0] : stage.flops[rank];
    const double told = rank < inputs.flops.size() ? inputs.flops[rank] : 0;
    slowest = std::max(slowest, flops / (told > 0 ? told : kAssumedFlops));
  }
  return slowest;
}

// Each rank to each other: by node, whichever ranks are there.
void add_all_to_all(const std::vector<NodeDevices>& ranks, double bytes, Stage& stage) {
  if (densest(ranks) == 1)
    return add_exchange(stage, Pattern::AllToAll, without_counts(ranks), bytes);
  Exchange exchange;
  for (const NodeDevices& from : ranks)
    for (const NodeDevices& to : ranks)
      if (from.node != to.node)
        exchange.transfers.push_back({from.node, to.node, bytes * from.devices * to.devices});
  if (!exchange.transfers.empty()) stage.exchanges.push_back(std::move(exchange));
}

void add_transfers(const CycleInputs& inputs, const ProgramStage& from, Stage& stage) {
  const auto node_of = [&](std::int32_t rank) {
    return rank < 0 ? NodeId::none() : inputs.gang[static_cast<std::size_t>(rank)].node;
  };
  const auto ranks = static_cast<std::int32_t>(inputs.gang.size());
  Exchange exchange;
  for (const scenarios::RankTransfer& transfer : from.transfers)
    if (transfer.from < ranks && transfer.to < ranks)
      exchange.transfers.push_back({node_of(transfer.from), node_of(transfer.to), transfer.bytes});
  if (!exchange.transfers.empty()) stage.exchanges.push_back(std::move(exchange));
}

Stage stage_of(const CycleInputs& inputs, const ProgramStage& from) {
  Stage stage;
  stage.compute_s = compute_seconds(inputs, from);
  stage.overlap = 1;  // All begins together, and the longest counts.
  stage.paced = false;
  if (from.pattern == RankPattern::Ring || from.pattern == RankPattern::AllToAll) {
    std::vector<NodeId> ranks;
    for (const GangMember& member : inputs.gang) ranks.push_back(member.node);
    const std::vector<NodeDevices> nodes = count_nodes(ranks);
    if (from.pattern == RankPattern::Ring)
      add_exchange(stage, Pattern::Ring, without_counts(nodes), from.bytes);
    else
      add_all_to_all(nodes, from.bytes, stage);
  }
  add_transfers(inputs, from, stage);
  return stage;
}

}  // namespace

Cycle program_round(const CycleInputs& inputs) {
  Cycle cycle;
  for (const ProgramStage& stage : program_for(*inputs.work.traffic, inputs.gang.size()).stages)
    cycle.stages.push_back(stage_of(inputs, stage));
  // A round of nothing is a stage that takes no time.
  if (cycle.stages.empty()) cycle.stages.emplace_back();
  return cycle;
}

}  // namespace orrery::sim
