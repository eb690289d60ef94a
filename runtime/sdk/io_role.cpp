#include "runtime/sdk/io_role.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sdk {
namespace {

/// How long the role stays free for the next thread that waits. Longer than the pause between two
/// calls of a loop, shorter than what a peer that waits for us would notice.
constexpr std::chrono::microseconds kFree{500};

thread_local bool has_role = false;

}  // namespace

Parker& Parker::of_this_thread() {
  thread_local Parker parker;
  return parker;
}

void Parker::notify() {
  {
    const std::scoped_lock lock(mutex_);
    is_notified_.store(true, std::memory_order_release);
  }
  changed_.notify_one();
}

bool Parker::wait_until(SteadyTime until) {
  std::unique_lock lock(mutex_);
  if (until != SteadyTime::max())
    return changed_.wait_until(lock, until, [this] { return is_notified(); });
  changed_.wait(lock, [this] { return is_notified(); });
  return true;
}

IoRole& IoRole::instance() {
  static IoRole* const role = new IoRole;
  return *role;
}

bool IoRole::is_mine() { return has_role; }

void IoRole::take() {
  is_taken_.store(true);
  is_urged_ = false;
  is_wanted_.store(!candidates_.empty());
  has_role = true;
}

bool IoRole::enter(Parker& parker) {
  const std::scoped_lock lock(mutex_);
  if (!is_taken_.load()) {
    take();
    return true;
  }
  candidates_.push_back(&parker);
  is_wanted_.store(true);
  return false;
}

bool IoRole::try_enter() {
  if (is_taken_.load()) return false;
  const std::scoped_lock lock(mutex_);
  if (is_taken_.load()) return false;
  take();
  return true;
}

/// The role is free: the next candidate may try it, or else the background thread looks after it.
void IoRole::pass_on_locked() {
  if (!candidates_.empty()) {
    // Its thread cannot go on before it has withdrawn, which needs the lock.
    Parker* const next = candidates_.front();
    candidates_.pop_front();
    return next->notify();
  }
  // A task whose poster saw the role taken may have been too late for this thread.
  if (posted_.load() > 0) is_urged_ = true;
  if (sleeps_untimed_ || is_urged_) {
    sleeps_untimed_ = false;
    background_.notify_one();
  }
}

void IoRole::leave_locked() {
  has_role = false;
  is_taken_.store(false);
  left_at_ = std::chrono::steady_clock::now();
  pass_on_locked();
}

void IoRole::leave() {
  const std::scoped_lock lock(mutex_);
  leave_locked();
}

void IoRole::withdraw(Parker& parker) {
  const std::scoped_lock lock(mutex_);
  const auto at = std::ranges::find(candidates_, &parker);
  if (at != candidates_.end()) {
    candidates_.erase(at);
    is_wanted_.store(!candidates_.empty());
  } else if (!is_taken_.load()) {
    pass_on_locked();
  }
}

void IoRole::posted() {
  if (is_taken_.load()) return;
  const std::scoped_lock lock(mutex_);
  if (is_taken_.load() || is_urged_) return;
  is_urged_ = true;
  sleeps_untimed_ = false;
  background_.notify_one();
}

void IoRole::serve(const std::function<void()>& run_one) {
  std::unique_lock lock(mutex_);
  SteadyTime left_before{};
  while (true) {
    if (is_taken_.load()) {
      // Where calls follow each other it looks now and then, and is not woken at each of their
      // ends.
      if (std::exchange(left_before, left_at_) != left_at_) {
        background_.wait_for(lock, kFree);
      } else {
        sleeps_untimed_ = true;
        background_.wait(lock, [this] { return !sleeps_untimed_; });
      }
      continue;
    }
    const SteadyTime from = left_at_ + kFree;
    if (!is_urged_ && std::chrono::steady_clock::now() < from) {
      background_.wait_until(lock, from);
      continue;
    }
    take();
    is_in_background_.store(true);
    lock.unlock();
    do run_one();
    while (!is_wanted_.load());
    lock.lock();
    is_in_background_.store(false);
    leave_locked();
  }
}

bool IoCondition::wait_once(std::unique_lock<std::mutex>& lock, SteadyTime until) {
  Parker& parker = Parker::of_this_thread();
  parker.reset();
  waiting_.push_back(&parker);
  lock.unlock();
  const bool is_notified = Io::instance().wait(parker, until);
  lock.lock();
  std::erase(waiting_, &parker);
  return is_notified;
}

}  // namespace orrery::sdk
