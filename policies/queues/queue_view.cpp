#include "policies/queues/queue_view.hpp"

#include <algorithm>

namespace orrery::policies {

bool QueueView::is_live(JobId id) const {
  const QueueJob* job = books_.find(id);
  if (job == nullptr) return false;
  return job->queue == queue_ && whole().is_live(id);
}

std::int64_t QueueView::devices_usable() const {
  if (books_.scale().capacity.devices == 0) return whole().devices_usable();
  if (devices_ < 0) {
    const std::int64_t free = borrows_ ? free_.free_thousandths() : 0;
    const std::int64_t share = std::max(books_.share(queue_), books_.used(queue_) + free);
    // A job that is wider, or has no devices at all, must not look as if it could never run.
    devices_ = std::max<std::int64_t>(1, (share + 999) / 1000);
    jobs().waiting.for_each([&](const WaitEntry& entry) {
      devices_ = std::max<std::int64_t>(devices_, entry.devices);
      return true;
    });
  }
  return std::min(whole().devices_usable(), devices_);
}

}  // namespace orrery::policies
