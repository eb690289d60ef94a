// Placing in tests: gangs and claims as the placer best_fit puts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cluster/ledger.hpp"
#include "core/placer/registry.hpp"

namespace orrery {

inline PlacementRequest request_for(const Demand& demand, std::int32_t replicas) {
  PlacementRequest request;
  request.demand = demand;
  request.replicas = replicas;
  return request;
}

/// Takes a gang from the trial.
inline bool take_gang(CapacityTrial& trial,
                      const Demand& demand,
                      std::int32_t replicas,
                      std::vector<NodeCount>& nodes) {
  return placers::initial().place(request_for(demand, replicas), trial, nodes);
}

/// Takes a gang from an index.
inline bool take_gang(FreeIndex& index,
                      const Demand& demand,
                      std::int32_t replicas,
                      std::vector<NodeCount>& nodes) {
  CapacityTrial trial;
  trial.sync(index);
  const std::size_t begin = nodes.size();
  if (!take_gang(trial, demand, replicas, nodes)) return false;
  for (std::size_t i = begin; i < nodes.size(); ++i)
    index.take(nodes[i].node, demand, nodes[i].replicas);
  return true;
}

/// Where a gang could be claimed now; claims nothing.
inline bool find_gang(const Ledger& ledger,
                      const Demand& demand,
                      std::int32_t replicas,
                      std::vector<NodeCount>& nodes) {
  CapacityTrial trial;
  trial.sync(ledger.free());
  return take_gang(trial, demand, replicas, nodes);
}

/// Claims for one replica on a node that has room for it.
inline LeaseId claim_on(Ledger& ledger, JobId owner, NodeId node, const Demand& demand) {
  const DeviceSet devices = placers::initial().choose_devices(
      request_for(demand, 1), {node, ledger.free().at(node), ledger.devices_of(node, demand)});
  return ledger.claim(owner, node, demand, devices);
}

}  // namespace orrery
