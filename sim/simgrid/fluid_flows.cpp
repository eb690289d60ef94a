// The flows of the fluid fabric: by our own clock where nothing is contended, else in SimGrid.
#include <algorithm>

#include "core/base/invariant.hpp"
#include "sim/fabric/exchange_load.hpp"
#include "sim/simgrid/fluid_fabric.hpp"

namespace orrery::sim {

void FluidFabric::free_stage(std::uint32_t slot) {
  stages_[slot].ready = false;
  stages_.give_back(slot);
}

void FluidFabric::free_flow(std::uint32_t slot) {
  ++flows_[slot].generation;
  flows_.give_back(slot);
}

double FluidFabric::least_bandwidth(const Flow& flow) const {
  double least = flow.rate_max > 0 ? flow.rate_max : kAny;
  for (const std::uint32_t link : flow.links) least = std::min(least, links_.bandwidth(link));
  return least;
}

double FluidFabric::left_of(const Flow& flow) const {
  if (flow.in_simgrid.comm) return std::min(flow.payload, flow.in_simgrid.action->get_remains());
  // Without a link on its way it asks for no bound: it is through at once.
  if (flow.demand == kAny) return 0;
  return std::max(0.0, flow.left - flow.demand * (clock_ - flow.since).in_seconds());
}

double FluidFabric::rate_of(const Flow& flow) const {
  return flow.in_simgrid.comm ? flow.in_simgrid.action->get_rate() : flow.demand;
}

void FluidFabric::start_flow(std::uint32_t stage,
                             const StageFlows::Pair& pair,
                             double cap,
                             Instant now) {
  const std::uint32_t slot = flows_.take();
  Flow& flow = flows_[slot];
  const auto links = stage_flows_.links(pair);
  flow.stage = stage;
  flow.from = pair.from;
  flow.to = pair.to;
  flow.payload = stages_[stage].steps * pair.bytes;
  flow.left = flow.payload;
  flow.rate_max = pair.rate_max;
  flow.since = now;
  flow.links.assign(links.begin(), links.end());
  flow.demand = std::min(cap, least_bandwidth(flow));
  stages_[stage].flows.push_back(slot);
  ++flows_begun_;
  const bool contended = links_.enter(slot, flow.links, flow.demand);
  if (contended || (options_.everything_in_simgrid && !flow.links.empty()))
    put_into_simgrid(slot);
  else
    schedule(slot);
  if (contended) settle_contention(flows_[slot].links);
}

// On a link on which not all get what they ask for, SimGrid shares out.
void FluidFabric::settle_contention(const std::vector<std::uint32_t>& links) {
  for (const std::uint32_t link : links) {
    if (!links_.contended(link)) continue;
    for (const std::uint32_t slot : links_.flows(link)) {
      const Flow& flow = flows_[slot];
      const bool known = flow.in_simgrid.comm &&
                         std::find(flow.wired.begin(), flow.wired.end(), link) != flow.wired.end();
      if (!known) put_into_simgrid(slot);
    }
  }
}

void FluidFabric::schedule(std::uint32_t slot) {
  const Flow& flow = flows_[slot];
  const double seconds = flow.demand == kAny ? 0 : flow.left / flow.demand;
  flow_ends_.set(slot, flow.since + Duration::from_seconds(seconds), order_++);
}

// A flow that is in SimGrid already starts there anew, over more links.
void FluidFabric::put_into_simgrid(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  flow.left = left_of(flow);
  flow.since = clock_;
  if (flow.in_simgrid.comm) {
    engine_->cancel(std::move(flow.in_simgrid.comm));
    ++flow.generation;
  } else {
    flow_ends_.remove(slot);
    if (in_simgrid_ == 0) engine_->run_until(clock_.in_seconds());
    ++in_simgrid_;
    ++flows_in_simgrid_;
  }
  flow.in_simgrid = start_in_simgrid(slot);
}

SimGridEngine::Started FluidFabric::start_in_simgrid(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  const std::uint64_t tag = std::uint64_t{flow.generation} << 32U | (slot + 1U);
  const double bytes = std::max(1.0, flow.left);
  Wire* wire = options_.everything_in_simgrid ? nullptr : platform_.wire();
  if (wire == nullptr) {
    flow.wired = flow.links;
    return engine_->start(
        platform_.host(flow.from), platform_.host(flow.to), bytes, flow.demand, tag);
  }
  flow.wired.clear();
  way_.clear();
  for (const std::uint32_t link : flow.links) {
    if (!links_.was_contended(link)) continue;
    flow.wired.push_back(link);
    way_.emplace_back(platform_.links()[link]);
  }
  wire->lay(way_);
  return engine_->start(wire->from(), wire->to(), bytes, flow.demand, tag);
}

// Of a flow that its stage has let go of already.
void FluidFabric::take_out(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  links_.leave(slot, flow.links, flow.demand);
  flow_ends_.remove(slot);
  if (flow.in_simgrid.comm) {
    engine_->cancel(std::move(flow.in_simgrid.comm));
    flow.in_simgrid = {};
    --in_simgrid_;
  }
  free_flow(slot);
}

void FluidFabric::finish_flow(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  const std::uint32_t owner = flow.stage;
  Running& stage = stages_[owner];
  links_.leave(slot, flow.links, flow.demand);
  if (flow.in_simgrid.comm) {
    flow.in_simgrid = {};
    --in_simgrid_;
  }
  stage.flows.erase(std::find(stage.flows.begin(), stage.flows.end(), slot));
  free_flow(slot);
  if (!stage.flows.empty()) return;
  const Instant own_end = stage.begun + Duration::from_seconds(stage.own_s);
  const Instant flows_end = clock_ + Duration::from_seconds(stage.tail_s);
  stage_ends_.set(owner, std::max(own_end, flows_end), order_++);
}

void FluidFabric::take_ended() {
  for (const SimGridEngine::Ended& ended : engine_->ended()) {
    invariant(ended.whole, "hosts and links stay on: failures are ours, not SimGrid's");
    const auto slot = static_cast<std::uint32_t>(ended.tag & 0xffffffffU) - 1;
    if (flows_[slot].generation == static_cast<std::uint32_t>(ended.tag >> 32U)) finish_flow(slot);
  }
  engine_->ended().clear();
}

// Links on the ways of the stage's flows have another bandwidth: each asks for something else.
void FluidFabric::rework(std::uint32_t index) {
  Running& stage = stages_[index];
  for (const std::uint32_t slot : stage.flows) {
    Flow& flow = flows_[slot];
    if (!flow.in_simgrid.comm) {
      flow.left = left_of(flow);
      flow.since = clock_;
    }
  }
  stage.step_s = step_of_live_flows(stage);
  for (const std::uint32_t slot : stage.flows) {
    Flow& flow = flows_[slot];
    links_.leave(slot, flow.links, flow.demand);
    const double bytes = flow.payload / stage.steps;
    flow.demand = std::min(stage.paced ? bytes / stage.step_s : kAny, least_bandwidth(flow));
    links_.enter(slot, flow.links, flow.demand);
    // SimGrid remembers the bandwidth that the way had at first as a bound.
    if (flow.in_simgrid.comm)
      flow.in_simgrid.action->set_bound(flow.demand);
    else
      schedule(slot);
  }
  for (const std::uint32_t slot : stage.flows) settle_contention(flows_[slot].links);
}

double FluidFabric::step_of_live_flows(const Running& stage) {
  double transfer_s = 0;
  for (const std::uint32_t slot : stage.flows) {
    const Flow& flow = flows_[slot];
    const double bytes = flow.payload / stage.steps;
    if (flow.rate_max > 0) transfer_s = std::max(transfer_s, bytes / flow.rate_max);
    for (const std::uint32_t link : flow.links) {
      double& load = load_[link];
      load = links_.shared(link) ? load + bytes : std::max(load, bytes);
      transfer_s = std::max(transfer_s, load / links_.bandwidth(link));
    }
  }
  for (const std::uint32_t slot : stage.flows)
    for (const std::uint32_t link : flows_[slot].links) load_[link] = 0;
  return step_with_exchange_s(stage.shape, transfer_s + stage.latency_s);
}

}  // namespace orrery::sim
