#include "core/state/past_requests.hpp"

namespace orrery {

void PastRequests::add(const PastRequest& past) {
  known_.push_back(past);
  jobs_[past.request] = past.job;
}

JobId PastRequests::find(std::uint64_t request) const {
  const auto found = jobs_.find(request);
  return found == jobs_.end() ? JobId::none() : found->second;
}

void PastRequests::forget_until(Instant now) {
  while (!known_.empty() && known_.front().retired + kRequestsKnownFor <= now) {
    const auto oldest = jobs_.find(known_.front().request);
    // Another job may have had the same request since.
    if (oldest != jobs_.end() && oldest->second == known_.front().job) jobs_.erase(oldest);
    known_.pop_front();
  }
}

}  // namespace orrery
