// The view of one queue's policy: its own jobs, and what is free.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/queues/queue_books.hpp"

namespace orrery::policies {

/// Forwards to the view of the whole cluster what is not the queue's own: which jobs there are, how
/// much is free beside what this call has given to other queues, and how much its jobs may hold.
class QueueView final : public ClusterView {
 public:
  using Allows = std::function<bool(JobId, std::int32_t devices)>;

  /// All must outlive the view. `allows`: whether quotas and queues let a job hold so many devices
  /// in all.
  QueueView(const ClusterView& whole,
            const QueueBooks& books,
            std::uint32_t queue,
            const FreeIndex& free,
            Allows allows)
      : whole_(whole), books_(books), queue_(queue), free_(free), allows_(std::move(allows)) {}

  Instant now() const override { return whole_.now(); }

  const WaitQueue& waiting() const override { return jobs().waiting; }

  std::span<const JobId> holding() const override { return jobs().holding; }

  JobView job(JobId id) const override { return whole_.job(id); }

  void append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const override {
    whole_.append_nodes(id, role, out);
  }

  const JobRow& row(JobId id) const override { return whole_.row(id); }

  std::span<const ProfilingSeries> profilings(JobId id) const override {
    return whole_.profilings(id);
  }

  bool is_live(JobId id) const override;

  const FreeIndex& capacity() const override { return free_; }

  /// Whole devices of what the queue is entitled to, or holds where that is more; as many as its
  /// widest waiting job needs at least.
  std::int64_t devices_usable() const override;

  bool quota_allows(JobId id, std::int32_t devices) const override { return allows_(id, devices); }

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

  std::span<const JobId> touched() const override { return jobs().touched; }

  bool touched_complete() const override { return jobs().touched_complete; }

 private:
  const QueueJobs& jobs() const { return books_.jobs(queue_); }

  const ClusterView& whole_;
  const QueueBooks& books_;
  std::uint32_t queue_;
  const FreeIndex& free_;
  Allows allows_;
  mutable std::int64_t devices_ = -1;  ///< Of `devices_usable`; below 0: not counted yet.
};

}  // namespace orrery::policies
