// What a process sees of its node: devices and environment.
#include <algorithm>
#include <numeric>

#include "core/placement/plan.hpp"

namespace orrery::placement {
namespace {

std::int32_t accelerators_of(const Inventory& inventory, const Process& process) {
  return inventory.nodes[static_cast<std::size_t>(process.node_rank)].accelerators;
}

}  // namespace

std::vector<std::int32_t> visible_devices(const Inventory& inventory,
                                          const Process& process,
                                          bool isolate) {
  std::vector<std::int32_t> devices;
  if (isolate && process.kind == ResourceKind::Accelerator) {
    devices = process.devices;
    // A process of two groups may have them in another order.
    std::sort(devices.begin(), devices.end());
    return devices;
  }
  devices.resize(
      static_cast<std::size_t>(std::max<std::int32_t>(0, accelerators_of(inventory, process))));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

std::int32_t local_accelerator_rank(const Inventory& inventory, const Process& process) {
  if (process.kind == ResourceKind::Accelerator) return process.devices.front();
  return accelerators_of(inventory, process) > 0 ? 0 : -1;
}

const NodeEnvironment* environment_of(const Inventory& inventory,
                                      const ComponentPlan& component,
                                      const Process& process) {
  const auto group = static_cast<std::size_t>(process.group);
  const InventoryGroup* declared = inventory.find(component.groups[group]);
  if (declared == nullptr) return nullptr;
  const auto& environments = declared->environments;
  const auto found = std::lower_bound(
      environments.begin(),
      environments.end(),
      process.node_rank,
      [](const NodeEnvironment& e, std::int32_t node) { return e.node_rank < node; });
  const bool is_node = found != environments.end() && found->node_rank == process.node_rank;
  return is_node ? &*found : nullptr;
}

}  // namespace orrery::placement
