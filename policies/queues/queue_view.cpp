#include "policies/queues/queue_view.hpp"

#include <algorithm>

namespace orrery::policies {

bool QueueView::is_live(JobId id) const {
  const QueueJob* job = books_.find(id);
  if (job == nullptr) return false;
  return job->queue == queue_ && whole_.is_live(id);
}

std::int64_t QueueView::devices_usable() const {
  if (books_.scale().capacity.devices == 0) return whole_.devices_usable();
  const std::int64_t share = std::max(books_.share(queue_), books_.used(queue_));
  return std::min(whole_.devices_usable(), (share + 999) / 1000);
}

}  // namespace orrery::policies
