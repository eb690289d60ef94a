// The policy's view over a State: the controller's own, or a planner's copy.
#pragma once

#include <span>
#include <vector>

#include "core/job/turns.hpp"
#include "core/plan/cluster_view.hpp"
#include "core/plan/step_budget.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// A view of `state`, which must not change while the view is in use.
class StateView final : public ClusterView {
 public:
  /// `touched` and `touched_complete`: see ClusterView.
  /// `budget` (may be null) is counted down by each call.
  StateView(const State& state,
            std::span<const JobId> touched,
            bool touched_complete,
            StepBudget* budget = nullptr)
      : state_(state), touched_(touched), touched_complete_(touched_complete), budget_(budget) {}

  Instant now() const override { return counted().now; }

  const WaitQueue& waiting() const override { return counted().waiting; }

  std::span<const JobId> holding() const override { return counted().holding(); }

  JobView job(JobId id) const override {
    const JobState& job = counted().job(id);
    return {job.row, *job.spec, job.elastic_nodes};
  }

  void append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const override;

  const JobRow& row(JobId id) const override { return counted().job(id).row; }

  std::span<const ProfilingSeries> profilings(JobId id) const override {
    return *counted().job(id).profilings;
  }

  bool is_live(JobId id) const override {
    const JobState* job = counted().find(id);
    return job != nullptr && !is_final(job->row.phase);
  }

  const FreeIndex& capacity() const override { return counted().ledger.free(); }

  std::int64_t devices_usable() const override { return counted().ledger.devices_usable(); }

  bool quota_allows(JobId id, std::int32_t devices) const override {
    return counted().quota_allows(state_.job(id), devices);
  }

  std::int32_t target(JobId id, RoleIndex role) const override {
    return counted().job(id).target(role);
  }

  DeviceModelId model_named(std::string_view name) const override {
    return counted().model_named(name);
  }

  const Placer& placer() const override;

  PlacementRequest placement(JobId id, const Demand& demand, std::int32_t replicas) const override;

  bool is_seated(JobId id) const override { return orrery::is_seated(*counted().job(id).spec); }

  bool try_seats(JobId id,
                 std::int32_t replicas,
                 CapacityTrial& trial,
                 std::vector<NodeCount>& elastic) const override;

  JobId partner(JobId id) const override;

  std::span<const JobId> touched() const override {
    take_step();
    return touched_;
  }

  bool touched_complete() const override { return touched_complete_; }

  const State* state() const override { return &state_; }

 private:
  void take_step() const {
    if (budget_ != nullptr) budget_->take();
  }

  const State& counted() const {
    take_step();
    return state_;
  }

  const State& state_;
  std::span<const JobId> touched_;
  bool touched_complete_;
  StepBudget* budget_;
};

}  // namespace orrery
