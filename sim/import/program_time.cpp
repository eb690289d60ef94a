#include "sim/import/program_time.hpp"

#include <algorithm>
#include <vector>

namespace orrery::sim {
namespace {

using scenarios::ProgramStage;
using scenarios::RankPattern;
using scenarios::RankTransfer;

/// Bytes through each node's link and the storage, each way.
struct Loads {
  std::vector<double> out;
  std::vector<double> in;
  double read = 0;
  double written = 0;
};

void add_transfer(const RankTransfer& transfer, Loads& loads) {
  if (transfer.from == transfer.to) return;
  const auto at = [](std::vector<double>& list, std::int32_t rank) -> double& {
    return list[static_cast<std::size_t>(rank)];
  };
  const auto ranks = static_cast<std::int32_t>(loads.out.size());
  if (transfer.from < 0) loads.read += transfer.bytes;
  if (transfer.to < 0) loads.written += transfer.bytes;
  if (transfer.from >= 0 && transfer.from < ranks) at(loads.out, transfer.from) += transfer.bytes;
  if (transfer.to >= 0 && transfer.to < ranks) at(loads.in, transfer.to) += transfer.bytes;
}

/// Bytes through the busiest direction of a node's link that the pattern alone brings.
double pattern_bytes(const ProgramStage& stage, double ranks) {
  if (ranks < 2) return 0;
  switch (stage.pattern) {
    case RankPattern::AllToAll:
      return (ranks - 1) * stage.bytes;
    case RankPattern::Ring:
      return 2 * (ranks - 1) / ranks * stage.bytes;
    case RankPattern::None:
    case RankPattern::Transfers:
      return 0;
  }
  return 0;
}

double compute_s(const ProgramStage& stage, double flops) {
  if (stage.flops.empty() || flops <= 0) return 0;
  return *std::max_element(stage.flops.begin(), stage.flops.end()) / flops;
}

}  // namespace

double stage_alone_s(const ProgramStage& stage,
                     std::int32_t ranks,
                     const scenarios::NetworkSpec& network,
                     double flops) {
  const auto size = static_cast<std::size_t>(std::max(1, ranks));
  Loads loads{std::vector<double>(size), std::vector<double>(size)};
  for (const RankTransfer& transfer : stage.transfers) add_transfer(transfer, loads);
  const double busiest = std::max(*std::max_element(loads.out.begin(), loads.out.end()),
                                  *std::max_element(loads.in.begin(), loads.in.end()));
  double longest = std::max(stage.seconds, compute_s(stage, flops));
  longest = std::max(longest, (busiest + pattern_bytes(stage, ranks)) / network.nic_bandwidth);
  if (network.storage_bandwidth > 0)
    longest = std::max(longest, std::max(loads.read, loads.written) / network.storage_bandwidth);
  return longest;
}

double program_alone_s(const scenarios::Program& program,
                       std::int32_t ranks,
                       const scenarios::NetworkSpec& network,
                       double flops) {
  double sum = 0;
  for (const ProgramStage& stage : program.stages)
    sum += stage_alone_s(stage, ranks, network, flops);
  return sum;
}

}  // namespace orrery::sim
