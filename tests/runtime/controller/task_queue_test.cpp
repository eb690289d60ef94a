#include "runtime/controller/task_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace orrery::runtime {
namespace {

TEST(TaskQueue, HandsTasksOfManyThreadsOverEachThreadsInOrder) {
  TaskQueue inbox;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::vector<std::thread> threads;
  std::vector<std::vector<int>> seen(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&inbox, &seen, t] {
      for (int i = 0; i < kEach; ++i) inbox.post([&seen, t, i] { seen[t].push_back(i); });
    });
  std::size_t done = 0;
  while (done < kThreads * kEach) {
    std::vector<TaskQueue::Task> tasks;
    ASSERT_TRUE(inbox.take(TaskQueue::Clock::time_point::max(), tasks));
    for (const TaskQueue::Task& task : tasks) task();
    done += tasks.size();
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& each : seen) {
    ASSERT_EQ(each.size(), static_cast<std::size_t>(kEach));
    for (int i = 0; i < kEach; ++i) EXPECT_EQ(each[i], i);
  }
}

TEST(TaskQueue, AWakeEndsTheNextWaitAndAClosedOneTakesNothing) {
  TaskQueue inbox;
  std::vector<TaskQueue::Task> tasks;
  inbox.wake();
  EXPECT_TRUE(inbox.take(TaskQueue::Clock::time_point::max(), tasks));
  EXPECT_TRUE(tasks.empty());
  inbox.post([] {});
  inbox.close();
  EXPECT_TRUE(inbox.take(TaskQueue::Clock::time_point::max(), tasks))
      << "what was there is still taken";
  EXPECT_EQ(tasks.size(), 1u);
  tasks.clear();
  auto witness = std::make_shared<int>(0);
  inbox.post([witness] {});
  EXPECT_EQ(witness.use_count(), 1) << "the task is destroyed";
  EXPECT_FALSE(inbox.take(TaskQueue::Clock::time_point::max(), tasks));
}

}  // namespace
}  // namespace orrery::runtime
