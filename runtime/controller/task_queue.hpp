// Work for the controller's one thread, from all others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace orrery::runtime {

/// Takes tasks from any thread and hands them to one, in their order.
class TaskQueue {
 public:
  using Task = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  /// Any thread. After `close` the task is destroyed without being carried out.
  void post(Task task);

  /// Any thread: makes a `take` that is under way return, or else the next one.
  void wake();

  /// Waits for a task, a `wake` or `deadline`, and takes all tasks that are there. False after
  /// `close`, when there are none left.
  bool take(Clock::time_point deadline, std::vector<Task>& tasks);

  /// When the oldest of the tasks was posted that the last `take` gave; its consumer's to ask, and
  /// only where it gave some.
  Clock::time_point oldest() const { return oldest_taken_; }

  /// Takes nothing more from now on.
  void close();

  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  Clock::time_point oldest_;        ///< When the first of `tasks_` was posted.
  Clock::time_point oldest_taken_;  ///< The consumer's own.
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace orrery::runtime
