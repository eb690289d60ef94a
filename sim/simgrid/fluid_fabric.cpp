#include "sim/simgrid/fluid_fabric.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::sim {

namespace {

using Policy = simgrid::s4u::Link::SharingPolicy;

FlowLinks::Sharing sharing_of(const simgrid::s4u::Link& link) {
  if (link.get_sharing_policy() == Policy::SHARED) return FlowLinks::Sharing::Shared;
  if (link.get_sharing_policy() == Policy::FATPIPE) return FlowLinks::Sharing::Each;
  return FlowLinks::Sharing::Odd;
}

// Takes the latencies over from SimGrid.
FlowLinks take_links(const Platform& platform) {
  FlowLinks out;
  for (simgrid::s4u::Link* link : platform.links()) {
    out.add(link->get_bandwidth(), link->get_latency(), sharing_of(*link));
    link->set_latency(0);
  }
  return out;
}

}  // namespace

FluidFabric::FluidFabric(std::unique_ptr<SimGridEngine> engine, Platform platform, Options options)
    : engine_(std::move(engine)),
      platform_(std::move(platform)),
      options_(options),
      links_(take_links(platform_)),
      routes_(platform_),
      stage_flows_(platform_, links_, routes_),
      load_(links_.size()) {}

double FluidFabric::step_alone_s(const Stage& stage) const {
  stage_flows_.of(stage);
  return stage_flows_.step_s();
}

StageId FluidFabric::begin(const Stage& stage, Instant now) {
  sync(now);
  stage_flows_.of(stage);
  const std::uint32_t slot = stages_.take();
  Running& running = stages_[slot];
  const double steps = stage.steps;
  running.begun = now;
  running.paced = stage.paced;
  running.steps = steps;
  running.shape.compute_s = stage.compute_s;
  running.shape.local_exchange_s = stage.local_exchange_s;
  running.shape.overlap = stage.overlap;
  running.latency_s = stage_flows_.latency_s();
  running.step_s = stage_flows_.step_s();
  running.tail_s = stage.paced ? 0 : steps * running.latency_s;
  const bool sends = !stage_flows_.pairs().empty();
  running.own_s =
      steps * (sends ? step_seconds(stage.compute_s, stage.local_exchange_s, stage.overlap)
                     : running.step_s);
  for (const StageFlows::Pair& pair : stage_flows_.pairs())
    start_flow(slot, pair, stage.paced ? pair.bytes / stages_[slot].step_s : kAny, now);
  if (!sends) stage_ends_.set(slot, now + Duration::from_seconds(running.own_s), order_++);
  return {slot};
}

double FluidFabric::steps_done(StageId id, Instant now) {
  sync(now);
  const Running& stage = stages_[id.value];
  if (stage.ready) return stage.steps;
  double done = 1;
  if (stage.own_s > 0) done = std::min(done, (now - stage.begun).in_seconds() / stage.own_s);
  for (const std::uint32_t slot : stage.flows)
    done = std::min(done, 1 - left_of(flows_[slot]) / flows_[slot].payload);
  return std::max(0.0, done) * stage.steps;
}

double FluidFabric::pace(StageId id) {
  const Running& stage = stages_[id.value];
  double steps_per_s = stage.step_s > 0 ? 1 / stage.step_s : 0;
  for (const std::uint32_t slot : stage.flows) {
    const Flow& flow = flows_[slot];
    steps_per_s = std::min(steps_per_s, rate_of(flow) / flow.payload * stage.steps);
  }
  return steps_per_s;
}

void FluidFabric::end(StageId id, Instant now) {
  sync(now);
  Running& stage = stages_[id.value];
  if (stage.ready) ready_.erase(std::find(ready_.begin(), ready_.end(), id));
  while (!stage.flows.empty()) {
    const std::uint32_t slot = stage.flows.back();
    stage.flows.pop_back();
    take_out(slot);
  }
  stage_ends_.remove(id.value);
  free_stage(id.value);
}

Instant FluidFabric::next(Instant limit) {
  advance(limit, true);
  return ready_.empty() ? limit : clock_;
}

void FluidFabric::pass_to(Instant now, std::vector<StageId>& complete) {
  advance(now, false);
  std::sort(ready_.begin(), ready_.end(), [](StageId a, StageId b) { return a.value < b.value; });
  for (const StageId id : ready_) {
    complete.push_back(id);
    free_stage(id.value);
  }
  ready_.clear();
}

// What happens up to `limit`, or up to the first instant at which stages are complete.
void FluidFabric::advance(Instant limit, bool stop_when_ready) {
  while (!(stop_when_ready && !ready_.empty())) {
    Instant target = limit;
    if (!flow_ends_.empty()) target = std::min(target, flow_ends_.top().at);
    if (!stage_ends_.empty()) target = std::min(target, stage_ends_.top().at);
    if (in_simgrid_ > 0) {
      engine_->run_until(target.in_seconds());
      if (!engine_->ended().empty()) {
        // Up to the next nanosecond; dates nearer than a thousandth of one are that one.
        const Instant at{static_cast<std::int64_t>(std::ceil(engine_->clock() * 1e9 - 1e-3))};
        clock_ = std::max(clock_, std::min(at, target));
        take_ended();
        continue;
      }
    }
    clock_ = std::max(clock_, target);
    bool something = false;
    for (; !flow_ends_.empty() && flow_ends_.top().at <= clock_; something = true) {
      const std::uint32_t slot = flow_ends_.top().slot;
      flow_ends_.remove(slot);
      finish_flow(slot);
    }
    for (; !stage_ends_.empty() && stage_ends_.top().at <= clock_; something = true) {
      const std::uint32_t slot = stage_ends_.top().slot;
      stage_ends_.remove(slot);
      stages_[slot].ready = true;
      ready_.push_back({slot});
    }
    if (!something) return;
  }
}

void FluidFabric::sync(Instant now) {
  invariant(now >= clock_, "time does not step back");
  if (now > clock_ || in_simgrid_ > 0) advance(now, false);
}

void FluidFabric::set_link_share(NodeId node, double share, Instant now) {
  sync(now);
  engine_->run_until(now.in_seconds());
  const std::vector<std::uint32_t> touched = platform_.links_at(node);
  std::vector<std::uint32_t> stages;
  for (const std::uint32_t link : touched) {
    links_.set_share(link, share);
    platform_.links()[link]->set_bandwidth(links_.bandwidth(link));
    for (const std::uint32_t flow : links_.flows(link)) stages.push_back(flows_[flow].stage);
  }
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  for (const std::uint32_t stage : stages) rework(stage);
  settle_contention(touched);
}

void FluidFabric::link_use(std::vector<double>& shares) const {
  shares.assign(links_.size(), 0);
  for (std::uint32_t link = 0; link < links_.size(); ++link) {
    for (const std::uint32_t flow : links_.flows(link)) {
      const double rate = rate_of(flows_[flow]);
      shares[link] = links_.shared(link) ? shares[link] + rate : std::max(shares[link], rate);
    }
    shares[link] = std::min(1.0, shares[link] / links_.bandwidth(link));
  }
}

std::vector<std::string> FluidFabric::approximations() const {
  std::vector<std::string> out = platform_.approximations();
  out.push_back(
      "Bytes flow like a fluid: what a step sends is spread evenly over the step, and links are "
      "shared max-min fair at every instant; packets, buffers and congestion control are not "
      "modelled.");
  out.push_back(
      "Each pair of nodes of a stage is a flow of its own. Where one is slowed the others go on, "
      "up to the end of the stage; within it they do not wait for each other at every step.");
  return out;
}

}  // namespace orrery::sim
