#include "core/membership/placing.hpp"

#include "core/placer/registry.hpp"

namespace orrery {

const Placer& placer_of(const State& state) { return placers::named(state.settings.placer); }

PlacementRequest placement_of(const State& state,
                              const JobState& job,
                              const Demand& demand,
                              std::int32_t replicas,
                              NodeId avoid) {
  return {demand,
          replicas,
          avoid,
          state.settings.seed,
          job.row.id,
          job.row.generation,
          &state.demand_mix(),
          &state.ledger};
}

bool find_nodes(Step& step,
                const JobState& job,
                const Demand& demand,
                std::int32_t replicas,
                std::vector<NodeCount>& nodes,
                NodeId avoid) {
  State& state = step.state;
  return find_place(placer_of(state),
                    placement_of(state, job, demand, replicas, avoid),
                    state.ledger.free(),
                    state.scratch.any(),
                    nodes);
}

LeaseId claim_on(Step& step, const JobState& job, NodeId node, const Demand& demand) {
  Ledger& ledger = step.state.ledger;
  const DeviceSet devices =
      placer_of(step.state)
          .choose_devices(placement_of(step.state, job, demand, 1),
                          {node, ledger.free().at(node), ledger.devices_of(node, demand)});
  return ledger.claim(job.row.id, node, demand, devices);
}

}  // namespace orrery
