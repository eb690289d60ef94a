#include "runtime/sdk/io_timers.hpp"

#include <algorithm>

namespace orrery::sdk {
namespace {

constexpr std::size_t kGoneMin = 256;

}  // namespace

struct IoTimers::Entry {
  Entry(std::function<void()> what, std::shared_ptr<std::atomic<std::size_t>> counter)
      : task(std::move(what)), gone(std::move(counter)) {}

  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  ~Entry() { gone->fetch_add(1, std::memory_order_relaxed); }

  std::function<void()> task;
  std::shared_ptr<std::atomic<std::size_t>> gone;
};

bool IoTimers::is_later(const Waiting& a, const Waiting& b) {
  return a.at != b.at ? a.at > b.at : a.number > b.number;
}

Io::Timer IoTimers::add(SteadyTime at, std::function<void()> task) {
  forget_gone();
  const auto entry = std::make_shared<Entry>(std::move(task), gone_);
  heap_.push_back({at, ++last_number_, entry});
  std::ranges::push_heap(heap_, is_later);
  return entry;
}

void IoTimers::run_due(SteadyTime now) {
  while (!heap_.empty() && heap_.front().at <= now) {
    std::ranges::pop_heap(heap_, is_later);
    const std::shared_ptr<Entry> entry = heap_.back().entry.lock();
    heap_.pop_back();
    if (entry) entry->task();
  }
}

/// Those that were destroyed are taken out of the heap once they are half of it. That some of them
/// have left it already, being due, makes this only earlier.
void IoTimers::forget_gone() {
  const std::size_t gone = gone_->load(std::memory_order_relaxed);
  if (gone < kGoneMin || gone < heap_.size() / 2) return;
  gone_->store(0, std::memory_order_relaxed);
  std::erase_if(heap_, [](const Waiting& each) { return each.entry.expired(); });
  std::ranges::make_heap(heap_, is_later);
}

}  // namespace orrery::sdk
