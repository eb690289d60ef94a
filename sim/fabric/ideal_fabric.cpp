#include "sim/fabric/ideal_fabric.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

IdealFabric::IdealFabric(Topology topology) : topology_(std::move(topology)), loads_(topology_) {}

double IdealFabric::step_alone_s(const Stage& stage) const {
  loads_.of(stage);
  return step_with_exchange_s(stage, loads_.alone_s());
}

StageId IdealFabric::begin(const Stage& stage, Instant now) {
  const std::uint32_t slot = running_.take();
  const double step_s = step_alone_s(stage);
  running_[slot] = {now, stage.steps, step_s};
  heap_.set(slot, now + Duration::from_seconds(step_s * stage.steps), begun_++);
  return {slot};
}

double IdealFabric::steps_done(StageId id, Instant now) {
  const Running& stage = running_[id.value];
  if (now >= heap_.at(id.value)) return stage.steps;
  return std::min(stage.steps, (now - stage.begun).in_seconds() / stage.step_s);
}

void IdealFabric::end(StageId id, Instant) {
  heap_.remove(id.value);
  running_.give_back(id.value);
}

Instant IdealFabric::next(Instant limit) {
  return heap_.empty() ? limit : std::min(limit, heap_.top().at);
}

void IdealFabric::pass_to(Instant now, std::vector<StageId>& complete) {
  while (!heap_.empty() && heap_.top().at <= now) {
    complete.push_back({heap_.top().slot});
    end(complete.back(), now);
  }
}

void IdealFabric::link_use(std::vector<double>& shares) const {
  shares.assign(topology_.link_count(), 0.0);
}

std::vector<std::string> IdealFabric::approximations() const {
  return {
      "No link is shared (L0): each stage takes the time that it takes alone, and slower links "
      "slow no other job."};
}

}  // namespace orrery::sim
