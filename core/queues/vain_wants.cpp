#include "core/queues/vain_wants.hpp"

namespace orrery {

VainWants::VainWants(const QueueLoads& loads, const QueueScale& scale)
    : loads_(loads), scale_(scale), seen_(loads.queues()) {}

void VainWants::add(const QueueJob& job, const QueueUse& allowed) {
  if (allowed == job.want) return;
  found_.push_back(job);
  found_.back().want -= allowed;
}

void VainWants::look_waiting(const QueueJob& job, const QueueUse& gang, const QueueUse& allowed) {
  Seen& seen = seen_[job.queue];
  if (seen.looked_at == kLookedAt) return;
  ++seen.looked_at;
  const bool helped = allowed != QueueUse{} && !loads_.is_barred(scale_, job, gang);
  add(job, helped ? allowed : QueueUse{});
  if (!helped) return;
  seen.asked += scale_.dominant(gang);
  if (seen.asked >= scale_.total()) seen.looked_at = kLookedAt;
}

}  // namespace orrery
