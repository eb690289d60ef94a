#include "runtime/controller/task_queue.hpp"

#include <iterator>
#include <utility>

namespace orrery::runtime {

void TaskQueue::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
    // The consumer is awake already, or will be by the first of them.
    if (tasks_.size() > 1) return;
    oldest_ = Clock::now();
  }
  changed_.notify_one();
}

void TaskQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

bool TaskQueue::take(Clock::time_point deadline, std::vector<Task>& tasks) {
  std::unique_lock lock(mutex_);
  const auto is_due = [this] { return woken_ || closed_ || !tasks_.empty(); };
  // A wait until the end of time would overflow inside the library.
  if (deadline == Clock::time_point::max())
    changed_.wait(lock, is_due);
  else
    changed_.wait_until(lock, deadline, is_due);
  woken_ = false;
  if (!tasks_.empty()) oldest_taken_ = oldest_;
  if (tasks.empty()) {
    tasks.swap(tasks_);
  } else {
    tasks.insert(tasks.end(),
                 std::make_move_iterator(tasks_.begin()),
                 std::make_move_iterator(tasks_.end()));
    tasks_.clear();
  }
  return !closed_ || !tasks.empty();
}

void TaskQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

std::size_t TaskQueue::size() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

}  // namespace orrery::runtime
