#include "sim/simgrid/make_fluid_fabric.hpp"

#include <utility>

#include "sim/simgrid/fluid_fabric.hpp"

namespace orrery::sim {

Result<std::unique_ptr<Fabric>> make_fluid_fabric(const scenarios::Scenario& scenario) {
  const std::int64_t nodes = scenario.node_count();
  auto engine = std::make_unique<SimGridEngine>();
  Result<Platform> platform = Platform::make(*engine, scenario.network, nodes);
  Errors errors;
  if (!platform)
    errors = platform.errors();
  else if (platform->node_count() != static_cast<std::size_t>(nodes))
    errors.push_back({ErrorCode::InvalidInput,
                      {},
                      0,
                      "cluster.network.platform",
                      "the platform file has " + std::to_string(platform->node_count()) +
                          " nodes, the scenario " + std::to_string(nodes) +
                          "; make them equal (hosts of role master and storage are no nodes)"});
  for (Error& error : errors)
    if (error.file.empty()) error.file = scenario.file;
  if (!errors.empty()) return errors;
  return std::unique_ptr<Fabric>(
      std::make_unique<FluidFabric>(std::move(engine), std::move(platform).value()));
}

}  // namespace orrery::sim
