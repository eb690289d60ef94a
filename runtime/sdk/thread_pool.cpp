#include "runtime/sdk/thread_pool.hpp"

namespace orrery::sdk::detail {

ThreadPool::~ThreadPool() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() > idle_ && threads_.size() < threads_max_)
    threads_.emplace_back([this] { work(); });
  changed_.notify_one();
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace orrery::sdk::detail
