// The view of one queue's policy: its own jobs, and what is free.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/forwarded_view.hpp"
#include "policies/queues/queue_books.hpp"

namespace orrery::policies {

/// Forwards to the view of the whole cluster what is not the queue's own: which jobs there are, how
/// much is free beside what this call has given to other queues, and how much its jobs may hold.
class QueueView final : public ForwardedView {
 public:
  using Allows = std::function<bool(JobId, std::int32_t devices)>;

  /// All must outlive the view. `borrows`: whether its jobs may start on what its share does not
  /// cover. `allows`: whether quotas and queues let a job hold so many devices in all.
  QueueView(const ClusterView& whole,
            const QueueBooks& books,
            std::uint32_t queue,
            const FreeIndex& free,
            bool borrows,
            Allows allows)
      : ForwardedView(whole),
        books_(books),
        queue_(queue),
        free_(free),
        borrows_(borrows),
        allows_(std::move(allows)) {}

  const WaitQueue& waiting() const override { return jobs().waiting; }

  std::span<const JobId> holding() const override { return jobs().holding; }

  bool is_live(JobId id) const override;

  const FreeIndex& capacity() const override { return free_; }

  /// Whole devices of what the queue is entitled to, or holds where that is more, with what is free
  /// where it borrows; as many as its widest waiting job needs at least.
  std::int64_t devices_usable() const override;

  bool quota_allows(JobId id, std::int32_t devices) const override { return allows_(id, devices); }

  bool quotas_count_devices() const override { return false; }

  std::span<const JobId> touched() const override { return jobs().touched; }

  bool touched_complete() const override { return books_.touched_complete(queue_); }

  std::span<const JobId> other_holders() const override {
    return books_.touched_anywhere(whole(), queue_);
  }

 private:
  const QueueJobs& jobs() const { return books_.jobs(queue_); }

  const QueueBooks& books_;
  std::uint32_t queue_;
  const FreeIndex& free_;
  bool borrows_;
  Allows allows_;
  mutable std::int64_t devices_ = -1;  ///< Of `devices_usable`; below 0: not counted yet.
};

}  // namespace orrery::policies
