#include "sim/steps/loop_stages.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

double bytes_as_double(Bytes bytes) { return static_cast<double>(bytes.count); }

}  // namespace

Stage loop_train_stage(const scenarios::LoopSpec& loop,
                       const scenarios::NetworkSpec& network,
                       const std::vector<NodeDevices>& nodes,
                       double speed) {
  Stage stage;
  stage.compute_s = loop.train.in_seconds() / speed;
  stage.overlap = loop.overlap;
  stage.local_exchange_s =
      local_reduce_s(densest(nodes), bytes_as_double(loop.gradient), network.device_bandwidth);
  add_exchange(stage, Pattern::Ring, without_counts(nodes), bytes_as_double(loop.gradient));
  return stage;
}

Stage loop_weights_stage(const scenarios::LoopSpec& loop,
                         const std::vector<NodeId>& training,
                         const std::vector<NodeId>& generating) {
  Stage stage;
  stage.paced = false;
  if (training.empty()) return stage;
  std::vector<NodeId> members{training.front()};
  for (const NodeId node : generating)
    if (std::find(training.begin(), training.end(), node) == training.end())
      members.push_back(node);
  add_exchange(stage, Pattern::Broadcast, std::move(members), bytes_as_double(loop.weights));
  return stage;
}

}  // namespace orrery::sim
