#include "sim/steps/training_step.hpp"

#include <algorithm>
#include <utility>

#include "sim/steps/gang.hpp"

namespace orrery::sim {
namespace {

using scenarios::AllReduce;
using scenarios::StepSpec;

double as_double(Bytes bytes) { return static_cast<double>(bytes.count); }

// The devices of a step in their groups. A job that holds fewer devices than one group has them
// take several places of it.
class DeviceGrid {
 public:
  DeviceGrid(const StepSpec& step, const std::vector<GangMember>& members)
      : tensor_(static_cast<std::size_t>(step.tensor_parallel)),
        group_(tensor_ * static_cast<std::size_t>(step.pipeline_parallel)) {
    for (const GangMember& member : members)
      devices_.insert(
          devices_.end(), static_cast<std::size_t>(std::max(1, member.devices)), member.node);
    replicas_ = std::max<std::size_t>(1, devices_.size() / group_);
  }

  std::size_t replicas() const { return replicas_; }

  std::size_t group() const { return group_; }

  std::size_t tensor() const { return tensor_; }

  std::size_t stages() const { return group_ / tensor_; }

  NodeId at(std::size_t replica, std::size_t stage, std::size_t lane) const {
    return devices_[(replica * group_ + stage * tensor_ + lane) % devices_.size()];
  }

 private:
  std::size_t tensor_;
  std::size_t group_;
  std::size_t replicas_ = 1;
  std::vector<NodeId> devices_;
};

class StepBuilder {
 public:
  StepBuilder(const StepSpec& step, const scenarios::NetworkSpec& network, Stage& stage)
      : step_(step), network_(network), stage_(stage) {}

  // Every device is a replica: the nodes sum what their devices have summed.
  void reduce_over(const std::vector<NodeDevices>& nodes) {
    const double bytes = as_double(step_.gradient);
    stage_.local_exchange_s += local_reduce_s(densest(nodes), bytes, network_.device_bandwidth);
    add_exchange(stage_, all_reduce(), without_counts(nodes), bytes);
  }

  // The places of a replica each hold their part of the gradient, and sum it with the same place of
  // the other replicas.
  void reduce_gradients(const DeviceGrid& grid) {
    if (grid.replicas() < 2 || step_.gradient.count == 0) return;
    const double part = as_double(step_.gradient) / static_cast<double>(grid.group());
    double local_s = 0;
    std::vector<NodeId> peers(grid.replicas());
    for (std::size_t s = 0; s < grid.stages(); ++s) {
      for (std::size_t lane = 0; lane < grid.tensor(); ++lane) {
        for (std::size_t r = 0; r < grid.replicas(); ++r) peers[r] = grid.at(r, s, lane);
        local_s = std::max(local_s, reduce_among(peers, part));
      }
    }
    stage_.local_exchange_s += local_s;
  }

  // Each group that shares layers sums its activations.
  void reduce_tensors(const DeviceGrid& grid) {
    if (grid.tensor() < 2 || step_.tensor.count == 0) return;
    double local_s = 0;
    std::vector<NodeId> group(grid.tensor());
    for (std::size_t r = 0; r < grid.replicas(); ++r) {
      for (std::size_t s = 0; s < grid.stages(); ++s) {
        for (std::size_t lane = 0; lane < grid.tensor(); ++lane) group[lane] = grid.at(r, s, lane);
        local_s = std::max(local_s, reduce_among(group, as_double(step_.tensor)));
      }
    }
    stage_.local_exchange_s += local_s;
  }

  // Device t of a stage hands its part of each microbatch to device t of the next, and gets as much
  // back.
  void pass_activations(const DeviceGrid& grid) {
    if (grid.stages() < 2 || step_.activation.count == 0) return;
    const double bytes =
        as_double(step_.activation) * step_.microbatches / static_cast<double>(grid.tensor());
    bool within_a_node = false;
    for (std::size_t r = 0; r < grid.replicas(); ++r) {
      for (std::size_t lane = 0; lane < grid.tensor(); ++lane) {
        std::vector<NodeId> chain;
        for (std::size_t s = 0; s < grid.stages(); ++s) {
          const NodeId node = grid.at(r, s, lane);
          if (!chain.empty() && chain.back() == node)
            within_a_node = true;
          else
            chain.push_back(node);
        }
        add_chain(std::move(chain), bytes);
      }
    }
    // Forward and backward are passes of their own, so they take their time one after the other.
    if (within_a_node) stage_.local_exchange_s += 2 * bytes / network_.device_bandwidth;
  }

 private:
  Pattern all_reduce() const {
    return step_.all_reduce == AllReduce::Ring ? Pattern::Ring : Pattern::Tree;
  }

  // Adds the exchange between nodes, and returns the seconds of that inside the densest.
  double reduce_among(const std::vector<NodeId>& devices, double bytes) {
    const std::vector<NodeDevices> nodes = count_nodes(devices);
    add_exchange(stage_, all_reduce(), without_counts(nodes), bytes);
    return local_reduce_s(densest(nodes), bytes, network_.device_bandwidth);
  }

  void add_chain(std::vector<NodeId> chain, double bytes) {
    if (count_nodes(chain).size() == chain.size())
      return add_exchange(stage_, Pattern::Chain, std::move(chain), bytes);
    // A chain that comes back to a node is none of distinct members.
    Exchange exchange;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      exchange.transfers.push_back({chain[i], chain[i + 1], bytes});
      exchange.transfers.push_back({chain[i + 1], chain[i], bytes});
    }
    stage_.exchanges.push_back(std::move(exchange));
  }

  const StepSpec& step_;
  const scenarios::NetworkSpec& network_;
  Stage& stage_;
};

}  // namespace

Cycle training_step(const CycleInputs& inputs) {
  const StepSpec& step = inputs.work.traffic->step;
  const RoleIndex role = elastic_role(inputs.spec);
  const std::vector<GangMember> chosen =
      inputs.spec.roles.size() > 1 ? members_of(inputs.gang, role) : std::vector<GangMember>{};
  const std::vector<GangMember>& members = chosen.empty() ? inputs.gang : chosen;

  Stage stage;
  const double bubble = static_cast<double>(step.microbatches + step.pipeline_parallel - 1) /
                        static_cast<double>(step.microbatches);
  const double rate = scenarios::rate_of(inputs.work, static_cast<std::int32_t>(members.size()));
  stage.compute_s = step.units / rate * bubble;
  stage.overlap = step.overlap;
  StepBuilder builder(step, inputs.network, stage);
  if (step.tensor_parallel == 1 && step.pipeline_parallel == 1) {
    builder.reduce_over(nodes_of(members));
  } else {
    const DeviceGrid grid(step, members);
    builder.reduce_gradients(grid);
    builder.reduce_tensors(grid);
    builder.pass_activations(grid);
  }
  return {{std::move(stage)}, step.units};
}

}  // namespace orrery::sim
