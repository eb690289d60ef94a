// Threads for methods that run beside others; started as they are needed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace orrery::sdk::detail {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads_max) : threads_max_(threads_max) {}

  /// Waits for the tasks that run; those that have not begun are dropped.
  ~ThreadPool();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void run(std::function<void()> task);

 private:
  void work();

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool ended_ = false;
};

}  // namespace orrery::sdk::detail
