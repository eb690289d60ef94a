// A view that is another one but for what a policy of policies shows otherwise.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/plan/cluster_view.hpp"

namespace orrery {

/// Forwards every question to another view.
class ForwardedView : public ClusterView {
 public:
  /// `whole` must outlive the view.
  explicit ForwardedView(const ClusterView& whole) : whole_(whole) {}

  Instant now() const override { return whole_.now(); }

  const WaitQueue& waiting() const override { return whole_.waiting(); }

  std::span<const JobId> holding() const override { return whole_.holding(); }

  JobView job(JobId id) const override { return whole_.job(id); }

  void append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const override {
    whole_.append_nodes(id, role, out);
  }

  const JobRow& row(JobId id) const override { return whole_.row(id); }

  std::span<const ProfilingSeries> profilings(JobId id) const override {
    return whole_.profilings(id);
  }

  bool is_live(JobId id) const override { return whole_.is_live(id); }

  const FreeIndex& capacity() const override { return whole_.capacity(); }

  std::int64_t devices_usable() const override { return whole_.devices_usable(); }

  bool quota_allows(JobId id, std::int32_t devices) const override {
    return whole_.quota_allows(id, devices);
  }

  bool quotas_count_devices() const override { return whole_.quotas_count_devices(); }

  std::int32_t target(JobId id, RoleIndex role) const override { return whole_.target(id, role); }

  DeviceModelId model_named(std::string_view name) const override {
    return whole_.model_named(name);
  }

  const Placer& placer() const override { return whole_.placer(); }

  PlacementRequest placement(JobId id, const Demand& demand, std::int32_t replicas) const override {
    return whole_.placement(id, demand, replicas);
  }

  bool is_seated(JobId id) const override { return whole_.is_seated(id); }

  bool try_seats(JobId id,
                 std::int32_t replicas,
                 CapacityTrial& trial,
                 std::vector<NodeCount>& nodes) const override {
    return whole_.try_seats(id, replicas, trial, nodes);
  }

  JobId partner(JobId id) const override { return whole_.partner(id); }

  std::span<const JobId> touched() const override { return whole_.touched(); }

  bool touched_complete() const override { return whole_.touched_complete(); }

  std::span<const JobId> holding_anywhere() const override { return whole_.holding_anywhere(); }

  std::span<const JobId> other_holders() const override { return whole_.other_holders(); }

  bool is_live_anywhere(JobId id) const override { return whole_.is_live_anywhere(id); }

  const State* state() const override { return whole_.state(); }

 protected:
  const ClusterView& whole() const { return whole_; }

 private:
  const ClusterView& whole_;
};

}  // namespace orrery
