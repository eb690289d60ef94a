#include "core/state/past_requests.hpp"

namespace orrery {

std::size_t PastRequests::home_of(std::uint64_t request) const {
  return static_cast<std::size_t>(request * 0x9e3779b97f4a7c15 >> 32) & (slots_.size() - 1);
}

// The slot that the request has, or the one that it would get.
std::size_t PastRequests::slot_of(std::uint64_t request) const {
  std::size_t slot = home_of(request);
  while (slots_[slot] != 0 && numbered(slots_[slot]).request != request)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void PastRequests::add(const PastRequest& past) {
  known_.push_back(past);
  if (known_.size() * 2 > slots_.size()) return rebuild();
  slots_[slot_of(past.request)] = first_ + known_.size() - 1;
}

void PastRequests::rebuild() {
  slots_.assign(slots_.size() * 2, 0);
  std::uint64_t number = first_;
  for (const PastRequest& past : known_) slots_[slot_of(past.request)] = number++;
}

JobId PastRequests::find(std::uint64_t request) const {
  const std::uint64_t number = slots_[slot_of(request)];
  return number == 0 ? JobId::none() : numbered(number).job;
}

void PastRequests::forget_until(Instant now) {
  while (!known_.empty() && known_.front().retired + kRequestsKnownFor <= now) {
    const std::size_t slot = slot_of(known_.front().request);
    // Another job may have had the same request since.
    if (slots_[slot] == first_) empty_slot(slot);
    known_.pop_front();
    ++first_;
  }
}

// Moves those up that were put behind it because it was taken: a search ends at an empty slot.
void PastRequests::empty_slot(std::size_t slot) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t next = (slot + 1) & mask; slots_[next] != 0; next = (next + 1) & mask) {
    const std::size_t home = home_of(numbered(slots_[next]).request);
    if (((next - home) & mask) < ((next - slot) & mask)) continue;
    slots_[slot] = slots_[next];
    slot = next;
  }
  slots_[slot] = 0;
}

}  // namespace orrery
