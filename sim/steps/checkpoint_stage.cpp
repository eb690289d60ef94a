#include <utility>

#include "sim/steps/cycle.hpp"
#include "sim/steps/gang.hpp"

namespace orrery::sim {
namespace {

/// The ranks that hold what is saved.
std::vector<NodeDevices> savers(const CycleInputs& inputs) {
  const std::string& role = inputs.work.traffic->loop.train_role;
  const auto& roles = inputs.spec.roles;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    if (role.empty() || roles[r].name != role) continue;
    auto members = members_of(inputs.gang, RoleIndex{static_cast<std::uint16_t>(r)});
    if (!members.empty()) return nodes_of(members);
  }
  return nodes_of(inputs.gang);
}

}  // namespace

Stage checkpoint_stage(const CycleInputs& inputs, bool restore) {
  Stage stage;
  stage.paced = false;
  if (!has_traffic(inputs.work) || inputs.work.traffic->checkpoint.size.count == 0) return stage;
  const std::vector<NodeDevices> nodes = savers(inputs);
  double devices = 0;
  for (const NodeDevices& entry : nodes) devices += entry.devices;
  const auto size = static_cast<double>(inputs.work.traffic->checkpoint.size.count);
  Exchange exchange;
  for (const NodeDevices& entry : nodes) {
    const double part = size * entry.devices / devices;
    const NodeId storage = NodeId::none();
    exchange.transfers.push_back(restore ? Transfer{storage, entry.node, part}
                                         : Transfer{entry.node, storage, part});
  }
  stage.exchanges.push_back(std::move(exchange));
  return stage;
}

}  // namespace orrery::sim
