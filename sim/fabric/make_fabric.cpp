#include "sim/fabric/make_fabric.hpp"

#include <utility>

#include "sim/fabric/ideal_fabric.hpp"
#include "sim/fabric/shared_fabric.hpp"

namespace orrery::sim {
namespace {

template <class Level>
Result<std::unique_ptr<Fabric>> make(const scenarios::Scenario& scenario) {
  if (scenario.network.topology == scenarios::NetworkTopology::Platform) {
    Error error;
    error.file = scenario.file;
    error.subject = "cluster.network.topology";
    error.message =
        "found a platform file at a fidelity that models the network by itself, needed a star, "
        "fat-tree, dragonfly or torus; use `--fidelity L2`, or describe the network";
    return error;
  }
  Topology topology(scenario.network, static_cast<std::int32_t>(scenario.node_count()));
  return std::unique_ptr<Fabric>(std::make_unique<Level>(std::move(topology)));
}

}  // namespace

Result<std::unique_ptr<Fabric>> make_ideal_fabric(const scenarios::Scenario& scenario) {
  return make<IdealFabric>(scenario);
}

Result<std::unique_ptr<Fabric>> make_shared_fabric(const scenarios::Scenario& scenario) {
  return make<SharedFabric>(scenario);
}

}  // namespace orrery::sim
