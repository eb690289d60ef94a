#include "sim/faults/component_failures.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/math.hpp"
#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;

constexpr double kTableNodeDays = 2048.0 * 54;

constexpr std::array kComponents{
    Component{"faulty GPU", 148, ComponentEffect::DeviceLost},
    Component{"GPU HBM3 memory", 72, ComponentEffect::DeviceLost},
    Component{"software bug", 54, ComponentEffect::WorkerCrash},
    Component{"network switch or cable", 35, ComponentEffect::LinkCut},
    Component{"host maintenance", 32, ComponentEffect::Maintenance},
    Component{"GPU SRAM memory", 19, ComponentEffect::DeviceLost},
    Component{"GPU system processor", 17, ComponentEffect::Reboot},
    Component{"NIC", 7, ComponentEffect::LinkCut},
    Component{"NCCL watchdog timeout", 7, ComponentEffect::WorkerHang},
    Component{"silent data corruption", 6, ComponentEffect::DeviceLost},
    Component{"GPU thermal interface or sensor", 6, ComponentEffect::DeviceLost},
    Component{"SSD", 3, ComponentEffect::NodeDown},
    Component{"power supply", 3, ComponentEffect::NodeDown},
    Component{"server chassis", 2, ComponentEffect::NodeDown},
    Component{"IO expansion board", 2, ComponentEffect::NodeDown},
    Component{"dependency", 2, ComponentEffect::WorkerCrash},
    Component{"CPU", 2, ComponentEffect::NodeDown},
    Component{"system memory", 2, ComponentEffect::NodeDown},
};

/// Devices of each node, by group.
std::int32_t devices_of(const scenarios::Scenario& scenario, std::uint64_t node) {
  for (const NodeGroup& group : scenario.groups) {
    if (node < static_cast<std::uint64_t>(group.count)) return group.devices;
    node -= static_cast<std::uint64_t>(group.count);
  }
  return 0;
}

Duration drawn(Random& random, double median_s, double sigma) {
  return Duration::from_seconds(random.lognormal(math::log(median_s), sigma));
}

void set_effect(ComponentEffect effect, std::int32_t devices, Random& random, Fault& fault) {
  // Drawn for each, so that another table of effects draws the same times and nodes.
  const Duration repair = drawn(random, 3600, 1.15);
  const std::uint64_t device = random.below(64);
  fault.lasting = repair;
  switch (effect) {
    case ComponentEffect::DeviceLost:
      // A node without devices has nothing less than itself to lose.
      fault.kind = devices > 0 ? FaultKind::DeviceLost : FaultKind::Down;
      if (devices > 0) fault.devices = 1ULL << device % static_cast<std::uint64_t>(devices);
      return;
    case ComponentEffect::NodeDown:
      fault.kind = FaultKind::Down;
      return;
    case ComponentEffect::Reboot:
      fault.kind = FaultKind::Down;
      fault.lasting = Duration::seconds(600);
      return;
    case ComponentEffect::WorkerCrash:
      fault.kind = FaultKind::Crash;
      fault.lasting = Duration::forever();
      return;
    case ComponentEffect::WorkerHang:
      fault.kind = FaultKind::Hang;
      fault.lasting = Duration::seconds(1800);
      return;
    case ComponentEffect::LinkCut:
      fault.kind = FaultKind::LinkCut;
      fault.lasting = Duration{repair.ns / 12};
      return;
    case ComponentEffect::Maintenance:
      fault.kind = FaultKind::PreemptionNotice;
      fault.notice = Duration::seconds(600);
      return;
  }
}

}  // namespace

std::span<const Component> llama3_components() { return kComponents; }

std::vector<Fault> draw_component_failures(const scenarios::ComponentRates& rates,
                                           const scenarios::Scenario& scenario) {
  std::vector<Fault> faults;
  const auto nodes = static_cast<std::uint64_t>(scenario.node_count());
  const double scale = rates.nodes > 0 ? rates.nodes : static_cast<double>(nodes);
  for (const Component& component : kComponents) {
    Random random = Random::stream(scenario.seed, "failures/llama3/" + std::string(component.name));
    const double mean_s = kTableNodeDays / component.count / scale * 86'400;
    Instant at = Instant::zero() + Duration::from_seconds(random.exponential(mean_s));
    while (at < Instant::zero() + rates.lasting) {
      Fault& fault = faults.emplace_back();
      fault.at = at;
      const std::uint64_t node = random.below(nodes);
      fault.nodes = {NodeId{static_cast<std::uint32_t>(node)}};
      set_effect(component.effect, devices_of(scenario, node), random, fault);
      at = at + Duration::from_seconds(random.exponential(mean_s));
    }
  }
  std::stable_sort(
      faults.begin(), faults.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return faults;
}

}  // namespace orrery::sim
