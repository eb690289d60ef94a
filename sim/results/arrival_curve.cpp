#include "sim/results/arrival_curve.hpp"

namespace orrery::sim {

void ArrivalCurve::submitted(const JobSpec& spec, const State& state) {
  if (fragmentation_.empty()) {
    DemandMix mix;
    const auto bundles = std::exchange(mix_, {});
    for (const auto& [bundle, workers] : bundles) {
      const Demand demand{bundle.cpu,
                          bundle.memory,
                          bundle.devices,
                          bundle.share,
                          bundle.device_model.empty() ? DeviceModelId::none()
                                                      : state.model_named(bundle.device_model)};
      for (std::int64_t i = 0; i < workers; ++i) mix.add(demand);
    }
    fragmentation_.emplace_back(mix.entries());
    of_node_.assign(state.ledger.node_count(), 0);
    for (std::uint32_t n = 0; n < of_node_.size(); ++n) measure(state, NodeId{n});
    version_ = state.ledger.free().version();
  }
  if (any_) look(state);
  any_ = true;
  for (const RoleSpec& role : spec.roles) arrived_ += role.bundle.thousandths() * role.min_replicas;
}

void ArrivalCurve::measure(const State& state, NodeId node) {
  const NodeFree& free = state.ledger.free().at(node);
  std::int64_t& now = of_node_[node.index()];
  fragments_ -= now;
  now = free.usable ? fragmentation_.front().weighted(free) : 0;
  fragments_ += now;
}

void ArrivalCurve::look(const State& state) {
  const FreeIndex& free = state.ledger.free();
  changed_.clear();
  if (free.changed_since(version_, changed_)) {
    for (const NodeId node : changed_) measure(state, node);
  } else {
    for (std::uint32_t n = 0; n < of_node_.size(); ++n) measure(state, NodeId{n});
  }
  version_ = free.version();
  const auto all = static_cast<double>(state.ledger.devices_total()) * 1000;
  if (all == 0) return;
  const auto idle = static_cast<double>(free.free_thousandths());
  const double fragment =
      static_cast<double>(fragments_) / static_cast<double>(fragmentation_.front().weight());
  // To the nearest percent.
  const std::int64_t percent = (arrived_ * 200 + state.ledger.devices_total() * 1000) /
                               (state.ledger.devices_total() * 2000);
  if (points_.empty() || points_.back().arrived_pct != percent) {
    points_.push_back({.arrived_pct = percent});
    jobs_.push_back(0);
  }
  ++jobs_.back();
  points_.back().allocated_pct += 100 * (all - idle) / all;
  points_.back().fragment_pct += 100 * fragment / all;
  points_.back().fragment_of_free_pct += idle > 0 ? 100 * fragment / idle : 0;
}

std::vector<ArrivalPoint> ArrivalCurve::close(const State& state) {
  if (any_) look(state);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto jobs = static_cast<double>(jobs_[i]);
    points_[i].allocated_pct /= jobs;
    points_[i].fragment_pct /= jobs;
    points_[i].fragment_of_free_pct /= jobs;
  }
  return std::move(points_);
}

}  // namespace orrery::sim
