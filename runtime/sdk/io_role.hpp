// Which thread does the I/O now. All that the SDK does with sockets and timers happens on one
// thread at a time, the one that has the I/O role; ADR 0024 says why it goes round.
//
// A thread that waits for a call takes the role where it is free: it reads its own answer, and no
// other thread has to be woken for it. While no thread waits, a background thread has the role. It
// takes it back only a moment after the last one left it, so that calls one after the other do not
// pass it to and fro.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk {

/// Where one thread waits until another one, or it itself as that of I/O, notifies it.
class Parker {
 public:
  static Parker& of_this_thread();

  void reset() { is_notified_.store(false, std::memory_order_relaxed); }

  bool is_notified() const { return is_notified_.load(std::memory_order_acquire); }

  /// Any thread.
  void notify();

  /// Whether it was notified before `until`.
  bool wait_until(SteadyTime until);

 private:
  std::atomic<bool> is_notified_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

class IoRole {
 public:
  /// The process's. It is never destroyed.
  static IoRole& instance();

  /// Whether this thread has the role.
  static bool is_mine();

  /// Takes the role where it is free. Otherwise `parker` is notified once it may be; the background
  /// thread leaves it after the event that it handles.
  bool enter(Parker& parker);

  /// Whether the background thread has it, which waits for an event, perhaps.
  bool is_in_background() const { return is_in_background_.load(); }

  /// Takes the role where it is free.
  bool try_enter();

  void leave();

  /// `parker` wants the role no longer. What it was offered goes to the next.
  void withdraw(Parker& parker);

  /// A task is about to be posted, and has been posted. `begun` follows on the thread that runs it.
  void posting() { posted_.fetch_add(1); }

  void posted();

  void begun() { posted_.fetch_sub(1); }

  /// Whether posted tasks wait.
  bool is_busy() const { return posted_.load() > 0; }

  /// The background thread: runs `run_one`, which waits for one event and handles it, while no
  /// other thread has the role. Never returns.
  void serve(const std::function<void()>& run_one);

 private:
  void take();
  void leave_locked();
  void pass_on_locked();

  std::mutex mutex_;
  std::condition_variable background_;
  std::atomic<bool> is_taken_{false};  ///< Changes under the mutex.
  std::atomic<bool> is_in_background_{false};
  std::atomic<bool> is_wanted_{false};  ///< There are candidates.
  std::atomic<int> posted_{0};
  std::deque<Parker*> candidates_;
  bool is_urged_ = false;        ///< The background thread is to take it at once.
  bool sleeps_untimed_ = false;  ///< The background thread, until it is notified.
  SteadyTime left_at_{};
};

/// A condition variable whose waiters do the I/O meanwhile, where no other thread does. What makes
/// the condition true happens on the I/O thread.
class IoCondition {
 public:
  /// On the I/O thread, with the lock that the waiters wait with.
  void notify_all() {
    for (Parker* parker : waiting_) parker->notify();
  }

  /// Whether the condition is true; not on the I/O thread.
  template <class Condition>
  bool wait_until(std::unique_lock<std::mutex>& lock, SteadyTime until, Condition is_true) {
    while (!is_true())
      if (!wait_once(lock, until)) return is_true();
    return true;
  }

  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition is_true) {
    wait_until(lock, SteadyTime::max(), std::move(is_true));
  }

 private:
  bool wait_once(std::unique_lock<std::mutex>& lock, SteadyTime until);

  std::vector<Parker*> waiting_;
};

}  // namespace orrery::sdk
